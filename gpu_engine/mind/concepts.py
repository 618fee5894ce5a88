# ruff: noqa: E501 - tables of words read better on long lines
"""Different words for one thing: what viewers call it and what merchants wrote are brought together before they are compared.

Data and its matching. A concept's words are replaced by one token in questions and in approved texts alike, so that 'do you
ship to the US' meets 'Do you ship abroad?' without a shared word. Wishes are concepts a product may serve.
"""

from __future__ import annotations

import re

CONCEPTS: dict[str, str] = {
    "abroad": r"海外|国外|境外|出国|国际(?:快递|运费)?|港澳台|香港|澳门|台湾|美国|加拿大|英国|澳洲|澳大利亚|日本|韩国|新加坡|马来西亚|欧洲|\babroad|\boverseas|\binternational(?:ly)?\b|\bworldwide|\bto (?:the )?(?:us|usa|u\.s\.?|states|uk|eu)\b|hong kong|macau|taiwan|\bcanada|\baustralia|\beurope|\bsingapore|\bmalaysia|\bjapan|\bkorea|\bgermany|\bfrance|outside (?:of )?china|mainland china|中国大陆",
    "opened": r"拆封|拆开|拆过|拆了|开封|打开过|开过封|\bopened\b|\bunsealed|open(?:ed)? the (?:box|pack\w*|bag)|broken seal",
    "pregnant": r"孕妇|孕期|怀孕|怀着孕|孕妈|哺乳期?|pregnan\w*|expecting a baby|breastfeed\w*",
    "service_contact": r"(?:人工)?客服|人工服务|customer service|customer support|human support|support team",
    "hours": r"几点|上班|下班|营业时间|工作时间|服务时间|在线时间|在线|(?:opening|working|business|service|office) hours|what (?:time|hours)|online from",
    "coupon": r"优惠券|优惠卷|消费券|店铺券|平台券|券|coupons?|vouchers?|promo codes?",
    "combine": r"叠加|叠着用|一起用|同时用|一块用|同享|共用|\bcombin\w+|\bstack\w*|use (?:both|two|several)|together",
    "price_drop": r"价格保护|保价|价保|差价|买贵|降价(?:了)?(?:怎么办|补)?|退差|补差|price (?:protection|drop\w*|match\w*)|protect the price|cheaper (?:later|next)|price goes down|drops? in price",
    "place_order": r"怎么下单|如何下单|怎么买|怎么拍|哪里下单|在哪下单|怎么购买|下单|\b(?:place|make) an order|how (?:do|can|to) (?:i )?(?:order|buy|purchase)|do i order|where (?:do|can) i (?:buy|order)",
    "fizzy": r"碳酸(?:饮料)?|可乐|雪碧|汽水|苏打水|气泡水|fizzy(?: drinks?)?|sodas?|\bcoke\b|\bcola|carbonated|sparkling(?: water)?",
    "return_postage": r"退货.{0,3}(?:运费|邮费)|(?:运费|邮费).{0,3}谁|退货运费|退货邮费|运费谁出|邮费谁出|退回.{0,4}运费|return (?:postage|shipping)|pay(?:s)? (?:for )?the return|return label",
    "gift_wrap": r"包成礼物|包起来|包装一下|包装得|礼品?包装|送礼包装|礼品袋|礼品盒|礼盒装?|贺卡|包装成礼物|gift[- ]?wrap\w*|gift[- ]?bag|gift[- ]?box|greeting card",
    "courier": r"什么快递|哪家快递|哪个快递|发什么|顺丰|中通|圆通|韵达|申通|邮政|京东(?:快递|物流)|couriers?|carriers?|\bups\b|fedex|\bdhl\b",
    "how_long_delivery": r"多久能?到|几天能?到|几天能?收到|什么时候能?到|多长时间能?到|how (?:long|many days).{0,20}(?:deliver\w*|arriv\w*|ship\w*|get here)|delivery time|when (?:will|does) it arrive",
    "invoice": r"发票|开票|专票|普票|invoices?|receipts?|vat\b",
    "address": r"改地址|换地址|地址(?:写|填)错|修改地址|change (?:of |the |my )*(?:delivery |shipping )*address|wrong address",
    "on_delivery": r"货到付款|到付|pay on delivery|cash on delivery|\bcod\b",
    "genuine": r"正品|真货|假的|假货|保真|真的假的|\bgenuine|\bauthentic|\bcounterfeit|\bknock-?offs?|\bfakes?\b",
    "wholesale": r"批发|量大|买得多|批量|大量采购|团购|公司采购|拿货|wholesale|bulk|large orders?",
    "induction": r"电磁炉|induction(?: (?:hob|cooker|stove))?",
    "metal_tools": r"铁锅?铲|铁勺|金属勺|金属铲|钢丝球|金属锅铲|metal (?:spatula|utensil|tool)s?|steel wool",
    "plane": r"飞机|登机|安检|坐高铁|托运|\bplanes?\b|\bflights?|\bfly|\bairports?|carry[- ]?on|cabin baggage",
    "rain": r"大雨|暴雨|下雨|淋雨|雨天|漏雨|heavy rain|\brain\w*|downpour|storm",
    "iphone": r"苹果手机|苹果|iphone|\bios\b|airpods",
    "bleed": r"掉色|褪色|染色|bleed\w*|(?:colou?r )?fad\w+|colou?r ?run",
    "water_wash": r"水洗|机洗|洗衣机|washing machine|machine[- ]wash\w*|wash(?:ed|able)?\b",
    "rinse": r"(?:用完|敷完)?(?:要不要|要|需要)?(?:洗掉|冲洗|洗脸)|敷完|\brinse|wash (?:it )?off",
    "replace_part": r"多久换|换一次|更换|替换|replace\w*|change the",
    "broken_on_arrival": r"收到.{0,6}(?:坏|破|碎|裂)|(?:坏|破|碎|裂)(?:的|了|掉).{0,4}(?:怎么办|收到)|arriv\w* (?:broken|damaged)|(?:broken|damaged) (?:on arrival|item|in transit)",
}
"""Concept -> what is said for it, Chinese or English, in questions and in texts."""

WISHES: dict[str, tuple[str, str]] = {
    "elders": (
        r"长辈|老人|老年|爸妈|父母|爷爷|奶奶|外公|外婆|姥姥|姥爷|公公|婆婆|岳父|岳母|丈母娘|中老年|我妈|我爸|妈妈|爸爸|elder\w*|grand(?:ma|pa|mother|father|parents)\w*|parents?\b|in-laws?|\bmom\b|\bmum\b|mother|father|\bdad\b",
        r"长辈|老人|送礼|礼盒|养生|保温|茶|毯|枕|elder|gift|thermos|tea\b|blanket|pillow|throw",
    ),
    "woman": (
        r"女朋友|女友|老婆|媳妇|女生|女士|闺蜜|姐妹|妹妹|姐姐|girlfriend|wife|sister|for (?:her|a woman|a girl)|ladies",
        r"口红|唇膏|真丝|面膜|面霜|护手霜|香|lipstick|silk|mask|cream|scent",
    ),
    "man": (
        r"男朋友|男友|老公|男生|男士|哥哥|弟弟|boyfriend|husband|brother|for (?:him|a man|a guy)",
        r"剃须|音箱|耳机|登山|充电宝|户外|speaker|earbud|backpack|power bank|outdoor",
    ),
    "child": (
        r"孩子|小孩|宝宝|儿童|儿子|女儿|小朋友|\bkids?\b|child\w*|\bson\b|daughter|toddler|baby",
        r"儿童|孩子|宝宝|学习|kids?\b|child|baby|study",
    ),
    "camping": (r"露营|野营|野餐|帐篷里|camp\w*|picnic", r"露营|野营|帐篷|营地|camp\w*|tent\b"),
    "hiking": (r"登山|爬山|徒步|远足|hik\w+|trek\w*|climb\w*", r"登山|徒步|户外|背包|hik|daypack|backpack|outdoor"),
    "travel": (
        r"旅行|旅游|出差|出门带|路上用|便携|travel\w*|business trip|on the go|portable",
        r"旅行|出差|便携|收纳袋|随行|充电宝|travel|portable|trip|pouch|power bank",
    ),
    "office": (
        r"办公室|办公|上班用|工位|同事|\boffice|\bdesk\b|colleague|coworker",
        r"办公|桌面|台灯|书桌|马克杯|office|desk|mug",
    ),
    "study": (
        r"学习|写作业|看书|读书|书房|宿舍|学生|stud(?:y|ent|ying)|read(?:ing)?\b|dorm\w*|homework",
        r"书桌|台灯|护眼|读|宿舍|desk lamp|reading|study",
    ),
    "sleep": (
        r"睡觉|睡眠|失眠|睡不好|助眠|午睡|卧室|\bsleep\w*|insomnia|\bnap\b|bedroom",
        r"睡|枕|床|眼罩|遮光|sleep|pillow|bed|eye mask",
    ),
    "warm": (
        r"保暖|怕冷|取暖|暖和|冬天|冬季|天冷|keep(?:ing)? warm|\bwinter|\bcold (?:days|weather)|cosy|cozy",
        r"暖|绒|毯|保温|被|warm|fleece|down|throw|thermos",
    ),
    "cool": (
        r"夏天|夏季|天热|凉快|降温|解暑|\bsummer|cool(?:ing)? down|hot (?:days|weather)",
        r"风扇|速干|透气|冷泡|防晒|fan\b|breathab|cool|sunscreen",
    ),
    "dry_skin": (
        r"干皮|干性|皮肤干|脸干|干燥|起皮|缺水|补水|保湿|dry skin|moistur\w+|hydrat\w+",
        r"干性|补水|保湿|dry\b|moistur|hydrat",
    ),
    "oily_skin": (r"油皮|油性|出油|控油|痘|油头|oily|acne|greasy", r"油性|控油|清爽|oily|oil control"),
    "sensitive_skin": (r"敏感肌|敏感皮|皮肤敏感|过敏|sensitive|allerg\w+", r"敏感|温和|sensitive|gentle"),
    "hands": (r"手干|手糙|手裂|护手|dry hands|chapped hands", r"护手|hand cream"),
    "sun": (r"防晒|晒黑|海边|sun ?(?:screen|burn|block)?\b|\bbeach", r"防晒|sunscreen|spf"),
    "clean_face": (r"洗脸|洁面|卸妆|cleans\w+|wash my face", r"洁面|洗面奶|cleans"),
    "tea_drinker": (r"喝茶|爱茶|茶友|泡茶|tea (?:lover|drinker)\w*|drinks? tea|loves? tea|\btea\b", r"茶|tea"),
    "coffee_drinker": (r"喝咖啡|咖啡|coffee", r"咖啡|马克杯|coffee|mug"),
    "cooking": (
        r"做饭|下厨|厨房|炒菜|煎蛋|煎牛排|烹饪|厨具|\bcook\w*|\bkitchen",
        r"锅|砧板|菜板|厨|\bpan\b|cutting board|cook",
    ),
    "lunch": (r"带饭|午饭|便当|盒饭|饭盒|lunch|meal prep|leftovers", r"饭盒|保鲜盒|焖烧|lunch box|food jar|storage box"),
    "hot_drink": (
        r"热水|烧水|保温|喝热|hot water|hot drinks?|keep(?:s)? (?:it |drinks )?(?:hot|warm)",
        r"保温|热水壶|焖烧|thermos|kettle|flask",
    ),
    "music": (r"听歌|音乐|听音乐|music|listen\w*|podcast", r"音箱|耳机|speaker|earbud|headphone"),
    "sport": (
        r"跑步|健身|运动|\brun(?:ning|ner)?\b|\bgym\b|workout|exercis\w+|fitness",
        r"运动|防汗|耳机|跑|sweat|sport|earbud",
    ),
    "dry_air": (r"空气干|开空调干|开暖气干|dry air|dry room", r"加湿|humidif"),
    "power": (r"手机没电|充电(?:用|的)?|没电|phone (?:dies|battery)|charge my phone", r"充电宝|移动电源|power bank|charger"),
    "bath": (r"洗澡|浴室|沐浴|\bbath\w*|\bshower", r"沐浴|浴|bath|shower"),
    "new_home": (
        r"乔迁|新家|搬家|暖房|新房|housewarming|new (?:home|house|flat|apartment)|moving in",
        r"四件套|毛巾|窗帘|茶壶|锅|bedding|towel|curtain|teapot",
    ),
    "teeth": (r"刷牙|牙齿|口腔|teeth|brushing|dental", r"牙刷|toothbrush"),
    "hair": (r"洗头|头发|hair\b", r"洗发|发|shampoo|hair"),
    "light": (r"照明|灯|夜里用|\blight(?:ing)?\b|\blamp", r"灯|lamp|lantern|light\b"),
    "drinkware": (r"喝水|水杯|杯子|drink(?:ing)? water|water bottle|\bcups?\b", r"杯|bottle|mug"),
}
"""Wish -> (how a viewer says it, what in a product's texts serves it). Searched in folded text."""

_CONCEPTS = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in CONCEPTS.items())
_WISHES = tuple((n, re.compile(a, re.IGNORECASE), re.compile(t, re.IGNORECASE)) for n, (a, t) in WISHES.items())


def with_concepts(text: str) -> tuple[str, list[str]]:
    """The text without the words of the concepts it holds, and those concepts as tokens (``#abroad``)."""
    found: list[str] = []
    for name, pattern in _CONCEPTS:
        text, count = pattern.subn(" ", text)
        if count:
            found.append(f"#{name}")
    return text, found


def wishes(folded: str) -> list[tuple[str, re.Pattern[str]]]:
    """The wishes a text voices, with the pattern of what serves each."""
    return [(name, serves) for name, asked, serves in _WISHES if asked.search(folded)]
