"""E2, evidence uncertainty: the response states a guess, a rumour or a preliminary figure as fact.

Whether a document predates the event is not checked, because cases do not include document dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import AnswerLocation, TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.scoring.robust.patterns import any_of

_HEDGES_EN = """
    (?<![0-9]_)may(?!_[0-9]) might could would_(?:be|become|have) expects? expected(?!_to_have) (?:is|are)_set_to
    tipped_(?:to|for|as) rumou?r(?:s|ed)? reportedly allegedly supposedly purportedly believes? believed speculat\\w+
    probabl[ey] possibl[ey] perhaps maybe likely unlikely predict\\w* forecast\\w* projected anticipat\\w+ counting_on
    in_talks attached_(?:to|as) (?:has|have)_attached will_be_(?:called|named) hopes?_to aims?_to plans?_to considering
    contender favou?rites? odds bookmakers? gossip whispers? insiders? smart_money hearsay unconfirmed tentative
    provisional\\w* preliminar\\w+ pre-order\\w* estimat\\w+ guess\\w* sources_say leaked leaks? due_to_be subject_to
    (?:first|early|earlier|initial|interim|partial|hurried|rough|quick|unofficial)_(?:count|tally|return|bulletin|estimate|figure|result|report|number|note|word|reading|draft|drawing|plan|tender|poll)s?
    (?:said|thought)_to(?:_be|_have) suggests? consensus pencilled_in aim(?:s|ing)_(?:at|for) exit_polls?
    (?:later|since)_(?:corrected|revised|amended) before_the_amendments
    first_(?:announced|put|thought) initially so_far not_yet still_(?:to|sealed|missing|out|being) in_the_belief
"""
_HEDGES_ZH = (
    "或将|可能|预计|有望|据传|爆料|传闻|拟[由将于以让在定]|或许|也许|料将|将会?是?由|预测|预期|预估|估计|推测|猜测|看好|据悉将|"
    "据称|据说|疑似|大概|恐将|或[为是由在达至以可卖]|恐怕|(?<!新)希望(?!小学|工程|集团|杯|之)|争取|力争|押注|计划|打算|呼声|热门|内定|消息人士|知情人士|人士称|人士透露|小道消息|坊间|"
    "谣传|网传|盛传|赔率|盘口|初步|初值|初稿|快报[称数曾显]|份快报|草案|草稿|标书|估算|估为|暂定|暂时|暂列|尚未|未经证实|最初|起初|原定|预售[价页]|曝光|泄露|"
    "接触|洽谈|磋商|商谈|有意|考虑|(?:首[次份]|部分|早先|早期|仓促|临时|粗略|非正式)的?(?:统计|估计|通报|计数|数据|数字|消息|结果)|"
    "[还尚](?:没|未)(?:有|被)?(?:算|计|报|扣|核|公布|确认)|修[改订正]之?前|作了?[更修]正|还剩[^，。]{1,6}未|首轮(?:表决|投票|统计|计票)|首份"
)
_HEDGE = re.compile(rf"\b{any_of(_HEDGES_EN)}\b|{_HEDGES_ZH}")


def find_uncertainty(trial: TrialContext) -> Iterator[Evidence]:
    """Yield the first hedging sentence that contains a wrong answer."""
    if trial.judged is None:
        return
    for answer, places in trial.origins:
        cue = _find_cue(trial, places[0]) if places else None
        if cue and trial.is_of_relation(answer, places[0]):
            yield Evidence(type="E2", **tell("unsure", said=answer.text), **places[0].fields, cue=cue)
            return


def _find_cue(trial: TrialContext, place: AnswerLocation) -> str | None:
    # A hedge such as "favourite" does not count if the question also contains it, because it may be part of the
    # question's topic.
    cues = (match[0] for match in _HEDGE.finditer(place.sentence.folded))
    return next((cue for cue in cues if cue not in trial.terms.folded), None)
