"""Words and patterns for reading English texts."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CAP = r"(?:[A-ZÀ-ÖØ-Þ](?:[\w-]|['’](?!s?\b))*(?<!-))"
_LINK = r"(?:of the|of|de la|de|del|la|le|van der|van|von|am|&)"
NAME = (
    rf"{CAP}(?:['’]s?(?= [A-Z]))?(?:(?: {_LINK})? (?:{CAP}(?:['’]s?(?= [A-Z]))?"
    r"|\d{1,3}(?![\d.,]*\d|[ -](?!is|was|has|weighs)[a-z%])))*"
)
PERSON = rf"{CAP}(?: (?:de |van der |van |von |al-)?{CAP}){{1,3}}"
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DAY = rf"(?:\d{{1,2}} {MONTH}|{MONTH} \d{{1,2}},?) \d{{4}}"
YEAR = r"[12]\d{3}(?![\d.,]*\d)"
WHEN = rf"(?P<when>on (?P<day>{DAY})|in (?P<month>{MONTH} {YEAR})|in (?P<year>{YEAR}))"
NUMBER = r"\d[\d,]*(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?"
# Words that indicate that a statement is a plan, a guess, hearsay or a denial.
UNSURE = re.compile(
    r"\b(?:will|would|(?-i:may)|might|could|should|shall|must|can|plans?|planned|planning|expect\w*|forecast\w*|predict\w*"
    r"|probably|perhaps|possibly|likely|believe[sd]?|thought to|estimate[sd]?|estimates|about|around|roughly|nearly"
    r"|almost|approximately|barely|close to|as many as|at best|at worst|at most|upwards"
    r"|or (?:so|more|less|fewer)|give or take|and counting|just under|well above|nearer"
    r"|over|more than|at least|up to|fewer than|less than|legend|rumou?r\w*|allegedly|reportedly"
    r"|said to|if|unless|whether|not|never|nobody|no|none|nothing|without|hopes?|hoped|wants?|intends?|aims?|due to be"
    r"|is to|are to|provisional\w*|preliminary|propos(?:es?|ed|al|als|ing)|under discussion|claim(?:s|ed)?"
    r"|wish(?:es|ed)?|(?:agreed|decided|voted|resolved|pledged|vowed|asked|offered|prepared|preparing) to|envisag\w+"
    r"|budgeted|targets?|tentative\w*|suppose[ds]?|recommend\w*|urge[sd]?)\b",
    re.IGNORECASE,
)
# Words anywhere in a sentence that indicate a plan, guess, condition, opinion, instruction or reported speech.
NOT_STATED = re.compile(
    r"\b(?:will|would|should|shall|must|(?-i:may)|might|could|can|cannot|plans?|planned|planning|propos\w+|expect\w*"
    r"|forecast\w*|predict\w*|hop(?:es?|ed|ing)|wants?|wanted|intends?|intended|intent\w*|aim(?:s|ed|ing)?|target\w*|goal"
    r"|due|scheduled|set to|(?:is|are|was|were) (?:(?:originally|first|later|still|now|also|then) )?to"
    r"|to be [a-z]+ed|if|unless|whether|provided|in case|probably"
    r"|perhaps|possibly|maybe|presumably|apparently|supposedly|likely|unlikely|seems?|seemed|appears?|believe\w*|thinks?"
    r"|thought|feels?|felt|guess\w*|estimat\w+|reckon\w*|assum\w+|suppos\w+|suspect\w*|understood|project(?:s|ed|ion)"
    r"|said|says?|saying|told|tells?|argue[sd]?|claim\w*|warn\w*|call(?:s|ed) (?:for|the|it)|complain\w*|suggest\w*"
    r"|recommend\w*|promis\w+|according|alleg\w+|reportedly|rumou?r\w*|legend|myth|folklore|boast\w*|recalls?|remembers?|maintains?|disput\w+|doubt\w*|insist\w*"
    r"|budget(?:ed|s)?|quoted?|brochure|in theory|on paper|own figure|put (?:\w+ ){0,6}at|valued at"
    r"|had (?:reported|stated|announced|written|calculated) (?:\w+ ){0,4}that|had (?:stated|given|listed|shown)"
    r"|(?:was|were|is|are) meant to|credited with|used to say|(?<=[;,] )in (?:fact|reality|truth)|actually|the correct"
    r"|first (?:reported|announced|given|counted)|(?:reports|newspapers|media|papers) (?:spoke|gave|wrote|put|had)"
    r"|earlier (?:study|estimate|report|survey|version|count|figure|press release|draft|edition|article|leaflet|notice"
    r"|reading|measurement|calculation|paper|map|list|statement|announcement)|was broken"
    r"|(?:begins|ends|starts|opens|closes|reopens|expires|resumes|retires) (?:in|on|from|by) (?-i:(?=[A-Z\d]))"
    r"|wrongly|mistaken\w*|erroneous\w*|misprint|correction|incorrect\w*"
    r"|you|your|yours|please|do not|don[’']t|let|eg|ie|next(?! to\b)"
    r"|tomorrow|would-be|asks?(?= for| to| permission)|asked (?:for|why|whether|to|that)|indicative"
    r"|(?:previously|originally) (?:given|stated|reported)|demand\w*|need(?:s|ed)?|wish(?:es|ed|ing)?|seek(?:s|ing)?"
    r"|sought to|consider(?:s|ed|ing)|envisag\w+|envision\w*|foresee\w*|foresaw|foreseen|pledg\w+|vow(?:s|ed)?"
    r"|threaten\w*|offer(?:s|ed)? to|(?:agree[sd]?|decid\w+|voted|resolve[sd]?|prepar\w+|looking"
    r"|ready|tr(?:y|ies|ied|ying)|attempt\w*|keen|willing|eager|supposed|bound|wait\w*) to|urge[sd]?|advocat\w+|mooted"
    r"|tentative\w*|prospective|ambition|dreams? of|dreamed of|draft (?:plan|budget|rules?|law|bill|version)|moved that"
    r"|motion|petition\w*|lobb(?:y|ied|ies)|in mind|in the pipeline|pending|awaiting|subject to)\b|\w[’'](?:d|ll)\b",
    re.IGNORECASE,
)
# Words near the start of a sentence that corrects or questions the previous one.
DOUBTED = re.compile(
    r"(?:\S+ ){0,12}?(?:disput\w+|den(?:y|ies|ied)|wrong|incorrect|untrue|not true|doubt\w*|nonsense|mistaken|misprint"
    r"|not right|not so|not correct|false|misremember\w*"
    r"|in (?:fact|reality|truth)|actually|error|mistake|mix-up|typing|withdrew|withdrawn|retract\w*|correct(?:ed|ion|s)"
    r"|revised|should have (?:read|been)|turned out|disagree[sd]?|contradict\w*|exaggerat\w+|unconfirmed|rough"
    r"|unofficial)\b"
    r"|[“\"](?:Should|Perhaps|Maybe|Probably)\b",
    re.IGNORECASE,
)
# Words whose meaning depends on the surrounding text.
DEPENDENT = re.compile(
    r"\b(?:he|she|it|they|we|i|you|his|her|its|their|our|my|him|them|us|this|that|these|those|there|here|then|now|today"
    r"|yesterday|tomorrow|ago|last|next|later|earlier|previous|former|another|other|same|also|still|again|latter|one"
    r"|ones|such|so far|already|recently|currently|current|present|second|third|half|each|every)\b",
    re.IGNORECASE,
)
# Verbs that indicate a complete statement; a text without any of them is not used.
VERB = re.compile(
    r"\b(?:[a-z]{2,}ed|"
    r"accounts?|adds?|amounts?|are|attracts?|bears?|beat|became|began|begins?|belongs?|bore|bought|breeds?|broke"
    r"|brought|built|buys?|came|carries|carry|caught|chose|climbs?|closes?|comes?|comprises?|connects?|consists?"
    r"|contains?|cooks|cost|costs|covers?|crosses|cut|dates?|depicts?|describes?|did|died|displays?|divides?|do"
    r"|does|draws?|drew|drives?|drops?|drove|dug|earns?|eats?|employs?|ends?|equals?|exceeds?|extends?|falls?"
    r"|features?|fed|feeds?|fell|fetch|fetches|fled|flew|flies|flows?|follows?|forms?|fought|found|froze|gains?"
    r"|gave|gets?|gives?|goes|got|grew|grow|grows|grows?|had|hangs?|has|have|held|hit|holds?|hosts?|houses|hung"
    r"|includes?|is|joins?|keeps?|kept|laid|lasts?|lay|leads?|leaves?|led|left|lends?|lent|lies|links?|lists?"
    r"|live|lives|loses?|lost|made|makes?|marks?|measures|meets?|met|moves?|needs?|occupies|offers?|opens?|owns?"
    r"|paid|passes|pays?|plays?|prints|prints?|produces?|provides?|put|ran|ranks?|reaches|read|reads|receives?"
    r"|remains?|requires?|rides?|rises?|rose|runs?|sang|sank|saw|seats|sells?|sent|serves?|set|shows?|shut|sings?"
    r"|sold|sought|spans?|spent|spread|stands?|starts?|stole|stood|stretches|supplies|survives?|swam|swims?|swore"
    r"|takes?|taught|teaches|tells?|threw|took|totals|trains?|treats?|uses?|visits?|was|weighs?|went|were|wins"
    r"|woke|won|wore|works?|writes|wrote"
    r")\b"
)
LOWER_NAME_WORDS = frozenset({"of", "the", "and", "de", "la", "le", "van", "der", "von", "am", "del", "&"})
NOT_NAMES = _words(
    "The A An It He She They We In On At But And This That These Those Since Until After Before During For From With"
    " Each Every All Both Some Most Many More Another Other Its His Her Their Our My There Here When While If Up Under"
    " Between Among About According Construction Today Claims Requests Private Visitors Customers Researchers Analysts"
    " Experts Admission Work Second First Last Next Nobody Only One Two Three Four Five Six Seven Eight Nine Ten Eleven"
    " Because Although Though Once As Like Despite Following Now Then So Yet Not To By Also Even Still Just Who What"
    " Where Twelve Half Earlier Later However Meanwhile Questions People Children Parents January February March April"
    " May June July August September October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
    " Until Unlike Never Today Our Your Within Without Outside Inside Around Over Near Through Against"
)
TITLES = (
    r"(?:Mr|Mrs|Ms|Dr|Prof|Professor|Sir|Dame|Mayor|President|Minister|Prime Minister|Judge|Captain|Chancellor|General"
    r"|Senator|Governor|Chief|Director|Inspector|Transport Minister|Councillor|Coach|Goalkeeper|Engineer)\.?"
)
ORGANISATION = re.compile(
    r"\b(?:Company|Group|University|Institute|Foundation|Bank|Council|Ministry|Agency|Centre|Center|Museum|Academy"
    r"|Society|Association|Club|School|Hospital|Corporation|Fund|Ltd|Inc|GmbH|Software|Logistics|Energy|Power|Rail"
    r"|Airlines|Foods|Shipyard|Observatory|Office|Authority|Union|Party|Alliance|League|FC|Trust|Lines|Press"
    r"|Instruments|Bakeries|Brewery|Cooperative|Works|Industries|Systems|Technologies|Pharma\w*|Motors|Robotics"
    r"|Therapeutics|Airways|Holdings|Partners|Brothers|Sons|Federation|Committee|Commission|Board|Department|Army"
    r"|Navy|College|Service|Services|Network|Consortium|Laborator\w+|Orchestra|Choir|Theatre|Library|Ironworks)\b"
)
# Words before or after a person's name that are not part of the name.
RANKS = _words(
    "CEO CFO Member President Commissioner Director Chief Officer Secretary Senator Minister Manager Chairman Jr Sr"
    " Representative Governor General Head Vice Co Coach Captain Justice Attorney Republican Democrat Chancellor Mayor"
    " Princess Prince King Queen Count Countess Duke Duchess Lord Lady Saint St Pope Bishop Emperor Judge Councillor"
)
# Nouns that can precede a person's name, e.g. "architect" or "poet".
PEOPLE = (
    r"(?:[a-z-]+ )?(?:architect|engineer|surveyor|teacher|nurse|chemist|physicist|zoologist|astronomer|novelist|writer"
    r"|author|poet|painter|sculptor|composer|critic|publisher|historian|jurist|lawyer|judge|banker|biologist|botanist"
    r"|ornithologist|oceanographer|paediatrician|doctor|surgeon|weaver|brewer|puppeteer|ranger|artist|director|producer"
    r"|photographer|designer|inventor|explorer|monk|priest|bishop|mathematician|economist|geologist|captain|pilot|coach"
    r"|journalist|politician|detective|scientist|philosopher|pianist|conductor|merchant|farmer|archaeologist|clockmaker"
    r"|naturalist|craftsman|builder|carpenter|blacksmith|industrialist|entrepreneur|businessman|businesswoman|baker"
    r"|mayor|president|chairman|chairwoman|professor|pharmacist|physician|veterinarian|linguist|sociologist|player"
    r"|striker|goalkeeper|cyclist|runner|swimmer|singer|actor|actress|dancer|filmmaker|curator|librarian|gardener"
    r"|fisherman|sailor|officer|admiral|general|missionary|pastor|sister|brother|widow|daughter|son|guide|student"
    r"|programmer|developer|manager|goldsmith|potter|glassmaker|mason|watchmaker|instrument maker|cartographer)"
)
# Nouns for entities with proper names. Such a noun can be the last word of a name, or can refer back to a name.
KINDS = _words(
    "company firm group manufacturer publisher brewery bakery bank insurer shipyard airline retailer mill factory"
    " newspaper magazine agency cooperative association foundation club party union organisation charity institute"
    " university college school academy museum library theatre orchestra choir band festival prize award hotel"
    " restaurant hospital clinic prison church cathedral chapel abbey monastery castle palace fortress tower bridge"
    " footbridge viaduct aqueduct tunnel canal dam reservoir lock harbour port airport station railway tramway metro"
    " ferry ship steamship steamer vessel lifeboat barge yacht submarine locomotive aircraft rocket satellite probe"
    " telescope observatory lighthouse kiln mine quarry lake river mountain volcano glacier island peninsula bay valley"
    " forest park reserve garden town city village municipality stadium arena barrier regatta marathon tournament"
    " treaty journal monument memorial fountain gallery archive laboratory cooperative consortium trust society"
    " federation fund distillery winery vineyard farm waterfall cave reef market school pipeline dictionary"
    " film novel album program windmill watermill theatre cinema zoo aquarium cemetery synagogue mosque temple pier"
    " funicular cable-car"
)
WORKS = _words("newspaper magazine journal dictionary film novel book album opera symphony game program")
OF_KINDS = _words("town city village island municipality port monastery")
COMPANIES = _words(
    "company firm group manufacturer publisher brewery bakery bank insurer shipyard airline retailer mill"
)
# Nouns for things of which a place may have several: "the Skarness school" is ambiguous, but "Skarness School" is a
# name.
SEVERAL = _words(
    "station school factory church hotel farm market hospital club bank museum library prison clinic restaurant mill"
    " company firm group party union association band garden park port harbour lock pier cemetery chapel temple mosque"
    " theatre cinema bakery college academy team"
)
# Nouns for entities whose names take the definite article, unless the text uses the name without it.
WITH_ARTICLE = _words(
    "tower tunnel museum cooperative railway festival prize award foundation association institute river canal dam"
    " bridge footbridge viaduct kiln barrier orchestra observatory treaty regatta marathon tournament reservoir mine"
    " telescope theatre stadium group academy society union party trust fund federation consortium archive gallery"
    " funicular"
)
MODIFIERS = _words(
    "bus ferry paper software cement construction shipping research sailing steam pharmaceutical insurance publishing"
    " food"
    " oil gas mining energy transport logistics football rowing chess public botanical national nature concert opera"
    " wind power textile chemical furniture glass toy clothing engineering packaging travel space weather fishing cargo"
    " passenger medieval volcanic railway road market mountain private technology biotechnology robotics"
)


# Nouns that are unambiguous after "the" in any text.
UNIVERSAL = _words(
    "world sea north south east west public war end start beginning middle time summer winter spring autumn night"
    " morning afternoon evening century decade sun moon earth year years day month week age hour minute wild past"
    " ground air coast equator press poor rich sick blind deaf northeast northwest southeast southwest"
)
# Nouns that often refer back to another sentence. A final "s" is omitted, because words are compared without it.
GENERAL = _words(
    "company firm group organisation organization project site building town city village place area region event team"
    " family book work programme program property land busines estate house structure facility institution plan scheme"
    " man woman men women couple brother sister two three people member party association club school church state"
    " country government figure number case manuscript document text deal agreement move decision change problem reason"
    " money idea right object find discovery film novel painting ship boat vessel line route road bridge tower"
)


@cache
def _common_words() -> frozenset[str]:
    return _words((files("ragbed.builder.rules") / "common_words.txt").read_text("utf-8"))


def is_distinctive(name: str) -> bool:
    """Check that a name contains more than common words such as "house", which occur in many names."""
    words = (re.sub(r"['’]s?$", "", word).lower() for word in name.split() if word[0].isupper())
    return any(word not in _common_words() for word in words)
