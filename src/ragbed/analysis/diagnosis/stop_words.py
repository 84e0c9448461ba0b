"""Function words of English and Chinese, which are never a name, an answer or a qualifier."""

from __future__ import annotations

# Function words, and words in which responses refer to their task.
_STOP = """
    a an the of in on at by to for from with into onto over under about as is are was were be been being am has have
    had do does did will would shall should can could may might must not no nor and or but if then than so that this
    these those it its he him his she her hers they them their we us our you your i me my who whom whose which what when
    where why how also only just very more most much many some any all each every both either neither there here up down
    out off after before during between since until while because s t re ve ll d m per via among amid around again
    according based answer document documents question questions provided given information passage passages text
    article mentioned stated states says said following above below therefore thus hence however external context
    explanation note reason reasoning step steps
"""
STOP = frozenset(_STOP.split())

# A pattern of the words between the parts of a Chinese sentence.
FRAME_ZH = (
    "根据新闻内容|据报道|报道|可能|授予|根据新闻|根据提供的文档|根据所提供的|根据提供的|根据文档|根据以上|文档中提到|文档中|文档|资料显示|答案|问题|信息|因此|所以|具体|分别|"
    "可以得知|可以看出|可知|得知|提到|显示|其中|以及|或者|但是|没有|我们|他们|她们|它们|这个|那个|这份|该|其|这|那|"
    "的|了|在|是|为|于|由|被|将|和|与|及|、|或|而|且|也|都|就|对|从|到|把|向|以|所|其|之|有|共|约|达到|达|位|名|个|款"
)

# A pattern of Chinese question words.
ASKING_ZH = "谁|哪[^\\W\\d_]?|什么时候|什么|多少|多大|多长|多久|几|何时|何地|何人|何|怎么|如何|为何|吗|呢"
