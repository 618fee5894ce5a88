# ruff: noqa: E501 - tables of words read better on long lines
"""Words that may not be said when selling: absolutes, medical promises, privileged supply, disparagement, claims to be human.

Rules cite the PRC Advertising Law (广告法), the 2023 guide on absolute terms (市场监管总局公告2023年第6号, whose exceptions are the
``spare`` patterns), the Trademark Law and EU AI Act art. 50. They are engineering rules, not legal advice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_engine.mind.quantities import QuantityKind, find_quantities


@dataclass(frozen=True, slots=True)
class Rule:
    """``pattern`` finds what is forbidden, unless ``spare`` matches the text around it (from 12 characters before)."""

    name: str
    pattern: re.Pattern[str]
    spare: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A forbidden word: which rule, which word, where."""

    rule: str
    word: str
    span: tuple[int, int]


def _rule(name: str, pattern: str, spare: str = "") -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE), re.compile(spare, re.IGNORECASE) if spare else None)


_NOT = r"(?:不能|不可|不得|无法|不具有|不具备|不是|并非|没有|不代替|不能代替|替代|绝不|不会|不宣称|not|no|never|doesn't|isn't|cannot|can't)"

RULES: tuple[Rule, ...] = (
    _rule(
        "广告法9(3) 国家级",
        r"国家级|世界级|宇宙级|全球级|national[- ]level|world[- ]class",
        r"国家级(?:标准|非物质|文物|自然保护)",
    ),
    _rule(
        "广告法9(3) 最",
        r"最(?:佳|好|优|强|棒|牛|赞|高级|高端|高档|高品质|先进|便宜|低价|优惠|划算|实惠|超值|值得买|值钱|有效|管用|安全|健康|专业|权威|受欢迎|畅销|热销|火爆|火的|舒服|舒适|"
        r"舒适的|流行|时尚|漂亮|完美|顶|顶级|厉害|给力|大力度|大优惠|大折扣|低折扣|低的?价|低到|新科技|新技术|奢侈|豪华|耐用|正宗|纯正|天然|新鲜的)",
        r"最(?:佳|好)(?:食用|赏味|使用|饮用|品尝|观看|口感温度|搭配时间|保存|提前|先|在|不要|别|还是|避免|用|放|空腹|饭)|最新鲜的时候",
    ),
    _rule(
        "广告法9(3) 最高级", r"(?:价格|全网|全国|行业|史上|历史)最[高低]|最[高低](?:价|级别|档次|优惠)|史上最|历史最|有史以来"
    ),
    _rule(
        "广告法9(3) 第一",
        r"(?:全国|全球|世界|行业|全网|销量|口碑|排名|品牌|市场|国内|亚洲|类目|同类|质量|热销)(?:排名|占有率)?第一(?!次|步|个|批|时间)|第一品牌|天下第一|top\s?1(?!\d)|no\.?\s?1(?!\d)|number one|#1(?!\d)",
    ),
    _rule(
        "广告法9(3) 顶级",
        r"顶级|顶尖|顶配天花板|天花板级|极品|极致|至尊|巅峰|王牌|冠军产品|之王|神器|无敌|无与伦比|独一无二|绝无仅有|空前绝后|史无前例|万能|全能王|百分百有效|100%有效|绝对(?:有效|安全|不|没有|正品|好|值)|永久(?!居|免费会员)|终极|首选品牌|领袖品牌|领导品牌|领先品牌|遥遥领先",
        r"极致(?:简约|省电)模式",
    ),
    _rule(
        "广告法9(3) 唯一",
        r"唯一(?:的)?(?:品牌|选择|一家|正品|官方|有效|能)|(?:全国|全球|全网|世界|行业|国内)(?:唯一|独家|首家|首款|首个|首创)|仅此一家|独此一家",
    ),
    _rule(
        "广告法9(3) superlative",
        r"\b(?:the best|best[- ](?:quality|in|product|choice|price|deal|ever|on the market)|the cheapest|cheapest|lowest price|the lowest|highest quality|world'?s (?:first|best|most)|unbeatable|unrivall?ed|the (?:most|ultimate|finest|perfect)|perfect for everyone|top[- ]rated|second to none|100% (?:effective|safe|guaranteed))\b",
        r"the best (?:way|time|before|part is you|thing to do)|the most (?:recent|common)|best (?:before|used|served|enjoyed|kept)|the lowest (?:setting|level|gear|speed)",
    ),
    _rule("广告法9(2) 国家机关", r"国家领导人|国宴|国务院|人民大会堂|中南海|国旗|国徽|国歌|钓鱼台国宾馆"),
    _rule("特供/专供", r"特供|专供(?!应)|军供|内供|机关专用"),
    _rule("商标法14 驰名商标", r"驰名商标|well[- ]known trademark"),
    _rule(
        "广告法17 医疗",
        r"治疗|治愈|根治|医治|主治|疗效|药效|药到病除|包治|抗癌|防癌|抗肿瘤|消炎|抗炎|祛病|治病|(?:降|稳)(?:血压|血糖|血脂|三高|尿酸)|(?:增强|提高|提升)(?:人体)?免疫力?|壮阳|补肾|活血化瘀|排毒|解毒|延年益寿|延缓衰老|生发|祛疤|除皱|丰胸|减肥|瘦身|燃脂|改善睡眠|治失眠|止痛|镇痛|软化血管|修复受损细胞|"
        r"\b(?:cures?|cured|treats? (?:disease|insomnia|diabetes|cancer|acne|pain)|heals?|anti[- ]?cancer|lowers? blood (?:pressure|sugar)|boosts? (?:your )?immun\w+|burns? fat|weight loss|detox\w*|relieves? pain|clinically proven|miracle)\b",
        rf"{_NOT}.{{0,8}}(?:治疗|治愈|疗效|药物|疾病|减肥|消炎|treat|cure)|(?:替代|代替)(?:药物|药品).{{0,4}}",
    ),
    _rule(
        "广告法28 保证",
        r"保证(?:有效|治|瘦|白|不|成功|升值)|无效退款|(?:包|必)(?:赚|治好|瘦)|稳赚|零风险|无副作用|没有(?:任何)?副作用|纯天然无(?:害|添加任何)|guaranteed results|no side effects|risk[- ]free",
    ),
    _rule(
        "广告法13 贬低",
        r"比[^,，。!！?？]{0,12}(?:牌|品牌|家|别的|其他|同行)[^,，。!！?？]{0,6}(?:好|强|便宜|有效|耐用|厉害)(?:[^,，。!！?？]{0,4}倍|多了|太多)|(?:其他|别的|同行|别家|友商)[^,，。!！?？]{0,8}(?:都是|全是|垃圾|假货|骗)|better than (?:any|all|every) other|(?:other|competing) brands? (?:are|is) (?:fake|junk|rubbish|bad)",
    ),
    _rule(
        "自贬/假货",
        r"(?:卖|是|有)(?:的)?假货|we sell fakes?|our (?:products|goods) are fake",
        r"(?:不|不是|没有|拒绝|杜绝|绝非).{0,3}(?:卖)?假货|假一",
    ),
    _rule(
        "EU AI Act 50 / 身份",
        r"我(?:就)?是(?:一个|一名|个)?(?:真人|活人|人类|真正的人)|我不是(?:一个)?(?:ai|机器人|数字人|人工智能|虚拟人|程序)|真人(?:主播|出镜|在播)|\bi(?:'m| am) (?:a )?(?:real|human|actual|living)(?: person| human| being)?\b|\bi(?:'m| am) not (?:an? )?(?:ai|robot|bot|machine|virtual|digital)|\bhuman host\b",
        r"(?:不是|并非|并不是|没有|而非|非)(?:由)?真人(?:主播|出镜|在播)?|\bnot (?:a |an )?(?:real |actual )?(?:human|person)|\bno human host\b",
    ),
    _rule("色情赌毒", r"赌博|博彩|色情|毒品|枪支|办证|代开发票"),
)

_URGENCY = re.compile(
    r"今天不买明天就没|明天就(?:没|涨|恢复原价)|过了今[天晚](?:就)?(?:没|恢复|涨)|仅限今[天日晚]|只限今[天日晚]|最后(?:一|\d+|[两三五十]+)(?:小时|分钟|天|次机会)|错过(?:今天|就|再)|马上(?:就)?(?:涨价|恢复原价|下架)|即将涨价|"
    r"\b(?:today only|last (?:chance|hour|day)|ends? (?:today|tonight|soon)|gone tomorrow|price goes up|final hours?)\b",
    re.IGNORECASE,
)
_REFERENCE_PRICE = re.compile(r"原价|\b(?:was|originally|original price)\b", re.IGNORECASE)


def find_forbidden(text: str) -> list[Hit]:
    """Every forbidden word of the text with its rule and span."""
    hits: list[Hit] = []
    for rule in RULES:
        for match in rule.pattern.finditer(text):
            if rule.spare is not None:
                around = text[max(0, match.start() - 12) : match.end() + 12]
                offset = match.start() - max(0, match.start() - 12)
                length = match.end() - match.start()
                if any(s.start() <= offset + length and offset <= s.end() for s in rule.spare.finditer(around)):
                    continue
            hits.append(Hit(rule.name, match[0], match.span()))
    return hits


def find_urgency(text: str) -> Hit | None:
    """A promise that something ends: only true while a promotion with an end is in force (虚假促销)."""
    match = _URGENCY.search(text)
    return Hit("虚假促销 promo_window", match[0], match.span()) if match else None


def find_reference_price(text: str) -> Hit | None:
    """A 'was' price with an amount: it must be the declared list price (规范促销行为暂行规定)."""
    match = _REFERENCE_PRICE.search(text)
    if match is None:
        return None
    after = [q for q in find_quantities(text) if q.kind is QuantityKind.MONEY and 0 <= q.span[0] - match.end() <= 6]
    return Hit("价格欺诈 reference_price", match[0], match.span()) if after else None
