# ruff: noqa: E501 - tables of words read better on long lines
"""What a comment wants: an intent from a closed list and slots checked against the catalogue, never the words themselves.

Rules over normalised text, Chinese and English; typing slips, pinyin and homophones are folded in first. The comment is
data: whatever it says, the result is one of :class:`Intent` with ids that exist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from gpu_engine.mind import lexicon
from gpu_engine.session.spec import Lang


class Intent(StrEnum):
    """Everything a comment can mean to the host."""

    PRICE = "price"
    STOCK = "stock"
    SHIPPING = "shipping"
    ATTRIBUTE = "attribute"
    PROMOTION = "promotion"
    COMPARE = "compare"
    AFTER_SALES = "after_sales"
    RECOMMEND = "recommend"
    IDENTITY = "identity"
    GREETING = "greeting"
    THANKS = "thanks"
    CHITCHAT = "chitchat"
    COMPLAINT = "complaint"
    ABUSE = "abuse"
    SPAM = "spam"
    INJECTION = "injection"
    UNKNOWN = "unknown"


ABOUT_PRODUCT = frozenset({Intent.PRICE, Intent.STOCK, Intent.ATTRIBUTE, Intent.PROMOTION, Intent.COMPARE})


@dataclass(frozen=True, slots=True)
class Understanding:
    """A comment understood.

    ``product_ids``: products it names (best first; several when the name fits several). ``pointing``: it says 'this'.
    ``unknown_product``: it names something that is not in the catalogue. ``attribute``: canonical attribute name.
    ``folded`` is the normalised text, ``rest`` the same without the product names.
    ``also``: other typed things asked in the same breath.
    """

    intent: Intent
    text: str = ""
    lang: Lang = "zh"
    product_ids: tuple[str, ...] = ()
    pointing: bool = False
    unknown_product: bool = False
    attribute: str = ""
    folded: str = ""
    rest: str = ""
    also: tuple[Intent, ...] = ()

    @property
    def product_id(self) -> str | None:
        """The product meant most, if one is named."""
        return self.product_ids[0] if self.product_ids else None

    @property
    def is_noise(self) -> bool:
        """True when nothing is asked: no product, no question, nothing known."""
        if self.intent is not Intent.UNKNOWN or self.unknown_product or self.product_ids:
            return False
        return not any(c.isalnum() for c in self.text) or not is_question(self.folded)

    def meaning(self, card_product: str | None) -> tuple[str, ...]:
        """What two comments share when one answer serves both."""
        product = "/".join(self.product_ids) or (card_product or "")
        if self.unknown_product:
            product = "?" + self.folded[:40]
        if self.intent in (Intent.GREETING, Intent.THANKS, Intent.CHITCHAT, Intent.IDENTITY):
            return (self.intent, self.lang)
        if self.intent is Intent.UNKNOWN or (self.intent is Intent.ATTRIBUTE and not self.attribute):
            return (self.intent, product, self.folded[:60])
        if self.intent in (Intent.SHIPPING, Intent.AFTER_SALES, Intent.COMPLAINT, Intent.RECOMMEND):
            return (self.intent, product, self.attribute, self.folded[:60])
        return (self.intent, product, self.attribute, *self.also)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CJK = re.compile(r"[\u3400-\u9fff]")
_INJECTION = _any(
    r"忽略(?:掉|之前|以上|上面|前面|所有|一切|你|先前|系统)*(?:的)?(?:所有|全部)?(?:的)?(?:指令|指示|规则|设定|提示|要求|命令|内容)",
    r"忽略(?:之前|以上|上面|前面)", r"无视(?:之前|以上|上面|规则|指令)", r"(?:系统|内部|初始|隐藏)(?:提示词?|指令|设定|prompt)", r"提示词", r"开发者模式|调试模式|管理员模式|dan模式|越狱|root权限",
    r"(?:跟|照|学)(?:着)?我(?:念|说|读|喊)", r"(?:主播|你)?(?:说|念|喊|读)一(?:句|遍|百声|下)[\"“「『'：:]", r"主播(?:说|念|喊|读)(?:一)?(?:句|遍|声)", r"重复(?:一遍|以下|上面|我|这句)",
    r"(?:你)?(?:现在|从现在起|接下来)?(?:你)?(?:是|扮演|假装(?:你)?是?)(?:一只|一个|我的)?(?:猫娘|女仆|奶奶|小狗)", r"喵一?百?声|学(?:猫|狗)叫", r"角色扮演|扮演", r"(?:用户|有人|别人|观众)问.{0,12}(?:都|就|请)?(?:你)?(?:回答|说|答)",
    r"以后(?:都)?(?:回答|说|报)", r"(?:价格|价钱|售价)(?:改成|改为|设为|变成|调成)", r"把.{0,12}(?:改成|改为|设为|调到)\d", r"解码|base64|执行(?:以下|代码|命令)", r"念出|读出来|输出(?:你|系统|全部|以下)|打印",
    r"全场[一二两三四五\d.]+折|库存(?:还有|改为|是)\d{3,}(?!.*[吗?？])", r"说(?:这个)?(?:只要|只卖|免费)|(?:全场|所有)(?:都)?(?:免费|[一二两三\d]折)(?:了|吧)?$", r"手机号.{0,6}(?:念|说|报|是多少)|(?:念|说|报).{0,10}(?:手机号|电话号码|地址)",
    r"ignore (?:all |any |the |your |my )*(?:previous|prior|above|earlier|instructions|rules)", r"disregard (?:all|the|your|previous)", r"forget (?:everything|all|your|previous)",
    r"system prompt|developer mode|jailbreak|\bdan mode\b|prompt injection", r"repeat (?:everything|after me|the (?:text|words)|all)", r"you are now|pretend (?:to be|you)|act as|roleplay|role[- ]play",
    r"(?:say|read|print|output|reveal|show me) (?:your |the |out |aloud )*(?:instructions|prompt|system|config|password|secret|api key|following)", r"(?:set|change) the price", r"say (?:that )?(?:it|this|everything)(?:'s| is) (?:free|only)|say [\"“']",
    r"new instructions?\b|override", r"<\s*/?\s*(?:system|comment|speak|script|assistant|user)|\[/?(?:inst|system)\]|###\s*(?:system|instruction)", r"ssml|<break|\bxss\b|drop table|union select",
    r"tell (?:everyone|viewers|people) .{0,20}(?:free|is \d|costs?)",
)  # fmt: skip
_ABUSE = _any(
    r"傻[逼比屄b叉x]|[傻煞沙]逼|煞笔|沙比|脑残|弱智|智障|白痴|废物|垃圾主播|去死|死全家|你妈|尼玛|草泥马|操你|艹|滚(?:蛋|开|吧)?$|^滚|王八|贱人|婊|狗东西|不要脸|恶心死|骗子死|cnm|nmsl|\bsb\b|tmd|丑死|狗屁|放屁",
    r"\bf+u+c+k\w*|\bshit\b|\bbitch\b|\basshole\b|\bidiots?\b|\bstupid\b|\bmoron\b|\bwhore\b|\bretard\w*|\bdumb\b|\bbastard\b|\bkill yourself\b|\bstfu\b|\bugly\b",
)
_SPAM = _any(
    r"(?:加|➕|\+)\s*(?:我)?\s*(?:v|微|薇|卫星|vx|wx|qq|q群|群|好友)",
    r"(?:私聊|私信)(?:我|领)|代刷|刷粉|涨粉|互粉|互关|兼职|日赚|日结|月入|稳赚|博彩|彩票|贷款|办证|棋牌|下注|返利群|免费领|点击(?:领取|链接领)|扫码|来我直播间|(?:隔壁|别家|其他|别的).{0,8}(?:直播间|主播).{0,8}(?:便宜|优惠|快去|更)|去.{0,6}直播间|关注我",
    r"https?://|www\.|\.(?:com|cn|net|top|xyz|ru)\b|t\.me/",
    r"(?:follow|sub(?:scribe)? to|check out|visit) my|free (?:followers|money|crypto|iphone)|earn \$?\d+|work from home|bitcoin|crypto|casino|telegram|whats ?app me|dm me|onlyfans|click (?:here|the link)",
    r"^[bcdfghjklmnpqrstvwxz]{8,}$",
    r"^(.)\1{5,}$",
    r"(?:批发|代理|货源|招商).{0,8}(?:联系|加|找)|(?:电话|手机|tel)[:：]?\s*1\d{10}|(?:低价|便宜)出.{0,6}(?:联系|私)|接单|刷单|套现|信用卡|股票|带单|赚钱|点我头像|看我主页|主页有",
)
_IDENTITY = _any(
    r"真人|(?:你|主播|主持人?)[^,，]{0,4}机器人|(?<!扫地)(?<!拖地)(?<!玩具)机器人(?:吗|吧|啊|主播|在)|是(?:不是)?(?:个)?机器人|(?:是不是|是)(?:个)?(?:ai|人工智能|数字人|虚拟人|虚拟主播|假人|录播|录像|人类|robot|bot|real)|(?:你|主播)[^,，]{0,6}(?:\bai\b|robot|\bbot\b|real|human)|人工智能|数字人|虚拟(?:人|主播)|你是谁|你叫什么|你是人|ai(?:主播|人)|录播|叫什么名字|是ai|活人",
    r"are you (?:a |an )?(?:real|human|ai|robot|bot|machine|person|virtual|fake|digital|recorded|alive|live)|real (?:person|human)|(?:is this|is it|is she|is he) (?:a |an )?(?:ai|bot|robot|real|recorded|recording|human|digital)|who are you|what are you\b(?! (?:asking|selling|charging|offering|showing|wearing|doing|talking|going))|your name|am i talking to|is the host (?:real|ai|human|a )",
)
_COMPLAINT = _any(
    r"不理(?:人|我|睬)|爱[答搭]不理|半天(?:不|没)(?:回|理)|没人回|不回复|联系不上|一直不|太慢了|等了.{0,4}(?:天|周|久)|跟描述不|和描述不|与描述不|描述不符|跟图片不|和图片不|不一样|起球了|掉毛|气死|无语|什么破|破东西|太烂|烂货|生气|投诉|差评|骗人|骗子|假货|上当|坑人|坑爹|太差|质量(?:太|好|真|很)?差|不好用|难用|生锈|(?:用|买|穿)了?.{0,5}就(?:坏|裂|断|掉|漏|破|不)|根本(?:不|没)|一点(?:都|也)不|垃圾|失望|举报|态度(?:差|不好)|没人(?:理|管|处理)|不处理|不给退|虚假宣传|货不对板|货不对版|色差(?:太|很)大|再也不|后悔买|后悔了|黑店|无良|被骗|维权|12315|没用完就",
    r"not happy|unhappy|upset|angry|annoy\w*|ripped off|useless|junk\b|cheaply made|fell apart|nobody (?:replies|answers|responds)|no (?:one|reply|response)|still waiting|ignored me|scam\w*|fraud|rip[- ]?off|terrible|awful|worst|horrible|disappoint\w*|fake (?:product|goods|one)|complain\w*|never (?:buy|again|ordering)|bad (?:quality|service|experience)|poor quality|waste of money|report (?:you|this)|false advertising|misleading|lied|cheated|unacceptable|ridiculous|garbage|trash",
)
_AFTER_SALES = _any(
    r"差价|保价|价保|价格保护|买贵|收到.{0,8}(?:碎|坏|破|裂|漏|瘪|脏|缺)|退货|退款|不合身|大了|小了|买小了|买大了|太大|太小|后悔|不满意|七天|几天能退|多久能退|退换货|退吗|能退|可退|退换|换货|能退|可以退|可退|包退|包换|能换|可以换|怎么退|怎么换|退了|退钱|退回|七天|7天|无理由|售后|坏了|坏的|破了|破损|碎了|漏了|漏水|漏液|少发|发错|少了|缺件|有问题怎么|质量问题|不合适(?:怎么|能|可以)|不满意|用不了|不能用|开不了机|不亮|不工作|没反应|瑕疵|划痕|裂了|裂开|断了|掉了|不想要|不喜欢|买错|拍错|反悔|取消订单|能不能退|换吗|退吗|拆了|拆封|开封|补发|赔|开线|脱线|发票|"
    r"订单.{0,6}(?:查|呢|没|不|状态)|查(?:一下)?(?:我的)?(?:订单|物流|快递)|怎么还没(?:到|发)|还没(?:收到|发货|到货|到呢|到啊)|没收到|几天了|物流(?:不动|没更新|停)|催(?:一下|发货|单)|客服",
    r"\breturns?\b|returned|returning|refund\w*|exchange[ds]?\b|after[- ]sales|broken|broke|damaged|defect\w*|doesn'?t work|not working|stopped working|missing (?:part|item|piece)|wrong (?:item|size|colou?r|product|one)|leak(?:s|ing|ed)\b|cracked|haven'?t (?:received|arrived)|not (?:arrived|received)|hasn'?t (?:arrived|shipped|come)|never (?:arrived|received|came)|where(?:'s| is) my (?:order|package|parcel|item)|my order|track(?:ing)?\b|customer service|replacement|faulty|money back|send (?:it|this) back|don'?t like it|invoice|repair",
)
_COMPARE = _any(
    r"区别|不同|差别|差异|哪个好|哪款好|哪个更|哪款更|哪个比较|对比|比较一下|相比|和.{1,14}比|跟.{1,14}比|比.{1,12}(?:好|强|贵|便宜|大|小|重|轻)(?:吗|多少|在哪)?|选哪|(?:哪|那)个(?:划算|便宜|贵|性价比|值)|还是.{1,12}(?:好|合适)",
    r"difference|differ\b|compare[ds]?|comparison|\bversus\b|\bvs\.?\b|which (?:one |of (?:them|these|the two) )?(?:is|are|would|should)|better than|or the\b.{0,30}\bbetter|cheaper than|which (?:is )?(?:cheaper|better|bigger|lighter)|between .{2,40} and ",
)
_PROMOTION = _any(
    r"(?:还|会|另外)送(?!货|到|人|礼|过|给)|优惠|活动|打折|折扣|几折|满减|券|红包|赠品|(?<![友公婆妈爸人辈事朋迁日师弟妹哥姐学])送(?:什么|啥)(?!好|合适|比较)|有送|送不送|有没有送|赠送|买.{1,3}送|秒杀|福利|促销|能便宜|便宜点|便宜些|便宜吗|再便宜|少点|砍价|讲价|还价|最低(?:多少|价)|送点|送的|附赠|有赠|好处|力度|能减|减多少|省多少|羊毛|半价|搞活|叠加|满\d|双十一|双11|618|满多少|拼团|团购|会员价|立减|返现|补贴",
    r"any (?:\w+ )?(?:deal|promo|offer|special)s?|knock .{0,8}off|on offer|discount\w*|coupons?|promo\w*|\bsale\b|\bdeals?\b|special offer|\boffers?\b|any off\b|% off|percent off|cheaper|lower (?:the )?price|bargain|free gift|gift with|any gifts?\b(?! ?(?:idea|for))|freebies?|bundle|buy (?:one|two|1|2)|voucher|black friday|best price|price (?:drop|reduction)|on sale",
)
_PRICE = _any(
    r"(?:几|多少)个?(?:大洋|子儿|铜板|毛爷爷|票子|软妹币|人民币|rmb|刀)|啥价|什么价|(?:咋|怎么|啥)(?:个)?(?:卖|算)(?:的|法)?|怎么(?:个)?价|(?:卖|值|花|收|要|得|掏|付)(?:个)?(?:(?:多少|几)(?:钱|块|元|大洋)|多少$|啥价)|几(?:十|百|千)?(?:块|元)|多少(?:能|可以)?(?:拿|带走|入|出)|价(?:呢|钱呢|位呢|多|咋样|如何)|(?:报|说|来|给)(?:个|下|一下)价|贵(?:不|么|嘛|吗)|多贵|什么价位|"
    r"多少钱|多钱|价格|价钱|什么价|啥价|价位|怎么卖|卖多少|售价|几块|几元|多少元|多少块|多少一(?:个|件|瓶|盒|支|套|双|条|台|只|包|斤|箱|袋|片|张|把|份|杯)|一(?:个|件|瓶|盒|支|套|双|条|台|只|包|箱|袋|片|张|把|份|杯)多少|报价|报个价|报下价|到手|几钱|几个钱|"
    r"贵不贵|贵吗|很贵|太贵|原价|标价|划线价|现价|多少￥|多少¥|何价|dsq|怎么个价|(?:花|要|得|卖|收)多少$|多少(?:拿下|可以拿|能拿|到手)|价多少|几位数|开价|多少米|(?<!\d)\d{2,5}(?:\.\d{1,2})?(?:元|块)?(?:吗|对吗|是吗|对不对|没错吧)[?？]*$",
    r"how much(?! (?:\w+ ){0,3}(?:does (?:it|this|that) )?(?:hold|weigh|fit|power|ram|storage|battery|water|is in|is left|are left|stock)s?)|\bprices?\b|\bpriced\b|\bpricing\b|\bcosts?\b|what do you charge|expensive|how many (?:dollars|yuan|bucks|rmb)|\bhm\b|going for|what does (?:it|this|that|the .{1,30}) go for|"
    r"(?:does|do|would|will|did|is) (?:it|this|that|these|those|they|the .{1,40}?) (?:go|going|sell|retail|run)(?:ing)?\b.{0,6}(?: for|$)|how much .{1,40}(?:go for|sell for|run me|retail)|what(?:'s| is| are) .{0,40}(?:worth|selling for|going for)|asking (?:for|price)|how (?:pricey|expensive|dear|cheap)|\bpricey\b|run me\b|what(?:'s| is) the (?:going )?(?:rate|tag|total|figure|cost)|ballpark|how many (?:rmb|kuai|bucks|quid)|need to pay|gonna cost|"
    r"the damage|set me back|price tag|going rate|for how much|what (?:do|would|will) i pay|how (?:mch|mutch|muc)\b|\bhw much\b",
)
_PRICE_WORDS = _any(
    r"钱|价|块|元|贵|怎么卖|到手|¥|￥",
    r"how much (?:is|are|for|does .{1,30} cost)|pric|cost|expensive|yuan|dollar|rmb|bucks|pay",
)
_PRICE_WEAK = _any(
    r"^(?:这个|这款|那个|它|主播|请问|亲|老板)*多少(?:呀|啊|呢)?[?？!！~]*$|^价[?？]*$|^p$|^price$|^\?*how much\?*$"
)
_STOCK = _any(
    r"还有多少|剩多少|剩余多少|库存|有货|没货|有没有货|现货|还有吗|还有没|还有多少|剩多少|剩几|还剩|缺货|断货|补货|卖完|抢完|售罄|没了吗|有多少(?:件|个|货|台|份|瓶|双)|几件了|还能买|还能拍|能拍吗|拍不了|下架|什么时候有货|几时有货|有现",
    r"in stock|out of stock|\bstock\b|available|availability|sold out|how many (?:are |do you have |have you got |of (?:them|these) )?(?:left|remain\w*|in stock|available)|how many (?:\w+ ){0,4}(?:left|remain\w*|in stock|available|do you have|have you got)|can i still (?:get|buy|order)|still (?:get|buy|order) (?:it|this|one)|(?:got|have) any\b|any (?:left|more left)|still have|do you still|run out|restock\w*|remaining|left\?*$|(?:are|is) there any left",
)
_SHIPPING = _any(
    r"包邮|运费|邮费|免邮|快递|物流|发货|什么时候发|几天到|多久到|多久能到|几天能到|几天收到|多久发|几号到|什么时候到|能到|哪里发|从哪(?:里|儿)?发|发什么快递|顺丰|圆通|中通|韵达|京东快递|邮政|配送|送货|寄到|寄到|偏远|新疆|西藏|内蒙|海外|国际|香港|台湾|澳门|发到|送到|今天发|当天发|现在拍.{0,6}发|预售|运费险|寄|邮到|邮去|到货|收到货|送到|(?:今天|明天|后天|几天).{0,3}(?:到|收|发)|哪个仓|仓库|同城|急用|加急|几时到|自提|港澳台|送上门",
    r"how (?:long|soon|fast|quick\w*) (?:till|until|before|for it|to get)|get (?:it|here) by|by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next week|christmas)|which carrier|shipp\w*|\bship\b|ships|deliver\w*|arriv\w*|postage|courier|express|freight|when will (?:it|i|my)|how (?:long|many days|fast|soon).{0,24}(?:arrive|take|get|deliver|ship|come|reach|receive)|overseas|international|dispatch\w*|send (?:it )?to|customs|same[- ]day|next[- ]day|pick ?up|p\.?o\.? box",
)
_RECOMMEND = _any(
    r"(?:带|用|买|选|挑|盖|送)(?:点|个)?(?:什么|啥)(?:好)?[?？]*$|(?:什么|哪个|哪种|哪款|啥)(?:比较|最|更)?适合|有没有.{0,6}(?:好用|好看|实用|便宜)的|安利|求种草|送(?:什么|啥|哪)|送人|礼物|预算|(?:块|元|百|十)(?:钱)?(?:以内|以下|之内)|(?:给|帮).{1,6}(?:挑|选|带)(?:个|一|点|件|款|哪|啥|什么)|(?:用|买|选|挑|拍)(?:哪|什么|啥)(?:个|款|种|好|比较)?(?:好|合适)?$|有(?:没有|什么|啥).{1,8}(?:用的|穿的|喝的|吃的|的(?:东西|商品|产品|款)?)(?:吗|呢|么)?[?？]*$|"
    r"推荐|哪个(?:适合|合适)|哪款(?:适合|合适)|选什么|买什么|送(?:什么|啥)好|送(?:女朋友|男朋友|妈妈|爸爸|老人|长辈|朋友|同事|领导|孩子|老师|客户|对象|婆婆)|有什么(?:适合|好物|好用|好吃)|适合.{1,10}的(?:有|吗)|有没有适合|有什么推荐|给.{1,6}买|爆款|卖得好|热门|主打|都有什么|有哪些(?:商品|产品|东西|款)|卖什么|卖啥|卖的什么|有什么卖|有什么产品|有什么商品|想买个|想买一",
    r"(?:^|what|which|anything|something).{0,12}\b(?:best|ideal|perfect|great) for\b|\bgifts?\b(?![- ]?(?:wrap|bag|box|card))|\bpresents?\b|(?:something|anything) (?:for|to|under|below|nice|good|useful|warm|cheap|that|i can)|(?:under|below|less than|within|up to) \W?\d+ ?(?:yuan|rmb|bucks|dollars)?\W*$|\bbudget\b|what(?:'s| is| would be)? (?:good|best|nice|suitable|right) for|which .{1,24}(?:suits?|for (?:my|a|an)) |"
    r"recommend\w*|suggest\w*|which (?:one|product) (?:should|would|do you)|what should i (?:buy|get)|best ?sellers?|gift (?:for|idea)|for my (?:mom|mum|mother|dad|father|wife|husband|girlfriend|boyfriend|friend|kids?|son|daughter|grandm\w+|grandpa|parents|boss)|something for|gifts?\b.{0,20}(?:for|idea)|(?:as|for) a gift|what (?:do|are) you (?:sell|selling)|what (?:products|items|else) do you|popular|looking for (?:a|an|some)|good for (?:a )?gift|any ideas",
)
_GREETING = _any(
    r"^(?:主播|大家|各位|家人们|小姐姐|姐姐)*(?:你|您)?好(?:呀|啊|哦|哈|鸭|主播|美女|帅哥|大家|家人们|漂亮|!|！|~)*$",
    r"^(?:主播|大家)?(?:早上好|上午好|中午好|下午好|晚上好|晚安|早安|早|哈喽|哈啰|嗨|嘿|来了|我来了|报到|报道|打卡|签到|第一次来|刚来|新人|路过|在吗|在不在|有人吗|冒泡)(?:呀|啊|啦|了|主播|大家|[!！~。])*$",
    r"欢迎我|我是新来的|刚进来|新粉",
    r"^(?:hi|hello|hey|hiya|howdy|yo|sup|good (?:morning|afternoon|evening|day)|greetings|what'?s up|hola)(?:[ ,!.]+(?:there|everyone|all|host|guys|again|from .{2,20}))*[ !.~]*$",
    r"^(?:i'?m )?(?:new here|first time here|just (?:joined|arrived|got here))[ !.]*$",
)
_THANKS = _any(
    r"^(?:好的?|嗯|哦|ok|行)?[,， ]*(?:谢谢|感谢|多谢|谢了|谢啦|thx|3q|蟹蟹|辛苦)",
    r"谢谢(?:主播|你|啦|了|老板|亲)?[!！~。]*$|辛苦了",
    r"\bthanks?\b|\bthank you\b|\bthx\b|\bty\b|appreciate",
)
_CHITCHAT = _any(
    r"中午吃|晚上吃|吃什么|睡|困|下雨|下雪|好冷|好热|周末|放假|上班|下班|想你|声音好听|唱|衣服好|妆|主播好|主播真|主播今天|加班|生日|考试|你猜|笑死|救命|绝了|太强|太可|yyds|awsl|xswl|哎|嘿嘿|啦啦|爱了|种草|心动|路人|围观|吃瓜",
    r"天气|吃饭了|吃了吗|哈哈|呵呵|嘻嘻|666|牛[逼批b]?[!！]*$|厉害|漂亮|好看|好美|帅|可爱|喜欢你|爱你|加油|支持|几点(?:下播|了|开播)|下播|多大了|结婚|男朋友|女朋友|唱(?:个|首)?歌|跳(?:个)?舞|讲个笑话|无聊|路过|冲[鸭呀]?|赞|棒|期待|拜拜|再见|哪里人|几岁|星座|心情|在干嘛|已拍|已下单|买了|下单了|拍了|收到了|回购|好用|用着不错|不错",
    r"weather|\blol\b|\bhaha\w*|\blmao\b|beautiful|pretty\b|\bcute\b|\bcool\b|\bnice\b|awesome|amazing|\blove (?:it|you|this|your)|how are you|where are you from|sing|dance|joke|bored|\bbye\b|goodbye|see you|good luck|how old are you|married|i (?:bought|ordered|got) (?:it|one|this|mine)|just (?:ordered|bought)|wow\b|great (?:stream|show)|good job|keep it up",
)
_POINTING = _any(
    r"这个|这款|这件|这双|这条|这台|这瓶|这支|这盒|这套|这只|这把|这种|这|它|手里|手上|屏幕上|正在讲|刚才|现在讲",
    r"\bthis\b|\bthat one\b|\bit\b|\bit's\b|\bits\b|\bthese\b|\bthe one (?:you|on)|on (?:the )?screen|\bcurrent (?:one|item|product)",
)
_HAVE = _any(
    r"^(?:你们?家?|店里|咱家|直播间)?(?:有没有|有|卖不卖|卖)(?P<zh>.{2,14}?)(?:卖)?(?:吗|么|嘛|没有|没|不|呢|\?|？)*[?？!！。]*$",
    r"(?:do|did|will|would) you (?:guys |still |also )?(?:have|sell|carry|stock|got|offer|do) (?P<en>.{3,40}?)\??$",
)
_QUESTION = _any(
    r"[?？]|吗|么$|呢$|什么|怎么|多少|几|哪|谁|如何|能不能|可不可以|是不是|有没有|会不会|好不好|可以",
    r"^(?:is|are|do|does|can|could|will|would|what|which|who|how|when|where|why|any)\b",
)

_HELLO = _any(
    r"你好|您好|早上好|上午好|中午好|下午好|晚上好|大家好|哈喽|哈啰|嗨|嘿|hello|来了|来啦|来咯|来喽|第一次来|刚来|刚进|刚到|新来|新人|新粉|报到|报道|打卡|签到|冒泡|欢迎|在吗|有人吗|早呀|早啊|晚安",
    r"\b(?:hi+|hello+|hey+|hiya|howdy|greetings|morning|evening|hola|aloha)\b|new here|first time here|just (?:joined|arrived|got here)",
)

_ORDER: tuple[tuple[Intent, re.Pattern[str]], ...] = (
    (Intent.IDENTITY, _IDENTITY),
    (Intent.COMPLAINT, _COMPLAINT),
    (Intent.AFTER_SALES, _AFTER_SALES),
    (Intent.COMPARE, _COMPARE),
    (Intent.PROMOTION, _PROMOTION),
    (Intent.PRICE, _PRICE),
    (Intent.SHIPPING, _SHIPPING),
    (Intent.STOCK, _STOCK),
    (Intent.RECOMMEND, _RECOMMEND),
)
_ATTRIBUTE_PATTERNS = {
    name: (re.compile(zh, re.IGNORECASE), re.compile(rf"(?<![a-z])(?:{en})", re.IGNORECASE))
    for name, (zh, en) in lexicon.ATTRIBUTES.items()
}
_PINYIN = tuple((re.compile(rf"(?<![a-z]){p}(?=$|[^a-z]|ma\b|a\b|ne\b)", re.IGNORECASE), zh) for p, zh in lexicon.PINYIN)
_HOMOPHONES = tuple((re.compile(p, re.IGNORECASE), zh) for p, zh in lexicon.HOMOPHONES)


def fold(text: str) -> str:
    """Lower case, simplified characters, pinyin and usual slips replaced by what was meant, obfuscating spaces removed."""
    folded = text.lower().translate(lexicon.TRADITIONAL).replace("’", "'")
    if not _CJK.search(folded):
        for pattern, chinese in _PINYIN:
            folded = pattern.sub(chinese, folded)
    if _CJK.search(folded):
        folded = re.sub(r"(?<=[\u3400-\u9fff])[\s·.,、_*\-]+(?=[\u3400-\u9fff])", "", folded)
        for pattern, chinese in _HOMOPHONES:
            folded = pattern.sub(chinese, folded)
    return folded.strip()


def language(text: str, folded: str) -> Lang:
    """The language to answer in: Chinese as soon as there is an ideograph (also from pinyin), else English."""
    if _CJK.search(folded):
        return "zh"
    return "en" if re.search(r"[a-z]{2,}", folded) else "zh"


def find_attributes(folded: str) -> list[str]:
    """Canonical attributes the text asks about, most certain first; wordings inside longer ones do not count."""
    chinese = _CJK.search(folded) is not None
    found: list[tuple[int, int, str, tuple[int, int]]] = []
    for index, (name, (zh, en)) in enumerate(_ATTRIBUTE_PATTERNS.items()):
        weighed = [(len(m[0]) * 3, m.span()) for m in zh.finditer(folded)] if chinese else []
        weighed += [(len(m[0]), m.span()) for m in en.finditer(folded)]
        if weighed:
            weight, span = max(weighed)
            found.append((-weight, index, name, span))
    names: list[str] = []
    spans: list[tuple[int, int]] = []
    for _, _, name, span in sorted(found):
        if any(span[0] < s[1] and s[0] < span[1] for s in spans):
            continue
        spans.append(span)
        names.append(name)
    if "selling_points" in names and len(names) > 1:
        names.remove("selling_points")
        names.append("selling_points")
    return names


def is_injection(text: str, folded: str) -> bool:
    """True for texts that give the host orders instead of asking something."""
    squeezed = re.sub(r"\s+", "", folded) if _CJK.search(folded) else folded
    return bool(_INJECTION.search(text) or _INJECTION.search(folded) or _INJECTION.search(squeezed))


def classify(text: str, folded: str) -> Intent:
    """The intent by rules alone (attributes and products not considered)."""
    if is_injection(text, folded):
        return Intent.INJECTION
    if _ABUSE.search(folded):
        return Intent.ABUSE
    if _SPAM.search(folded):
        return Intent.SPAM
    for intent, pattern in _ORDER:
        if pattern.search(folded):
            return intent
    if _GREETING.search(folded):
        return Intent.GREETING
    if _THANKS.search(folded):
        return Intent.THANKS
    return Intent.UNKNOWN


def is_price_for_sure(folded: str) -> bool:
    """True when money is named, not only an amount of something ('how much … weigh', '…多少')."""
    return _PRICE_WORDS.search(folded) is not None


def is_hello(folded: str) -> bool:
    """True for a short text with a greeting in it."""
    limit = 20 if _CJK.search(folded) else 45
    return len(folded) <= limit and _HELLO.search(folded) is not None


def also_asks(folded: str, primary: Intent) -> tuple[Intent, ...]:
    """Further typed things the same comment asks (price and stock in one breath)."""
    if primary not in (Intent.PRICE, Intent.STOCK, Intent.SHIPPING, Intent.ATTRIBUTE):
        return ()
    patterns = ((Intent.PRICE, _PRICE), (Intent.STOCK, _STOCK), (Intent.SHIPPING, _SHIPPING))
    return tuple(i for i, pattern in patterns if i is not primary and pattern.search(folded))


def is_bare_price(rest: str) -> bool:
    """True for a lone 'how much?' once the product's name is taken out."""
    return _PRICE_WEAK.search(rest.strip()) is not None


def is_pointing(folded: str) -> bool:
    """True when the text says 'this' or 'it'."""
    return _POINTING.search(folded) is not None


def is_chitchat(folded: str) -> bool:
    """True for small talk."""
    return _CHITCHAT.search(folded) is not None


def is_question(folded: str) -> bool:
    """True when the text asks."""
    return _QUESTION.search(folded) is not None


def asked_thing(folded: str) -> str:
    """What 'do you have …' asks for, else ''."""
    match = _HAVE.search(folded)
    if match is None:
        return ""
    return (match["zh"] or match["en"] or "").strip()
