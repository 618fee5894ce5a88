# ruff: noqa: E501 - tables of words read better on long lines
"""Words by which viewers name what they want, Chinese and English. Data only; matching is in :mod:`gpu_engine.mind.intent`."""

from __future__ import annotations

# fmt: off

TRADITIONAL = str.maketrans(
    "錢這個貨發質麼嗎顏庫幾價賣嗎買優惠險運費會員還沒給點開關電話號碼時間後退換壞補郵寄適膚區別較贈還實體體過應當對為與來東見現產國內業頁級別種條雙隻罐裝瓶張單標樣麗黃藍紅綠紫長寬厚輕硬軟舊試"
    "鏈聯請問說講嚐鮮歲兒媽爸蓋鋼鐵銅純棉絲麻絨織紡縮褪洗熱溫濕乾燥塵燈線頭聲聽視屏觸無極檔飯鍋爐",
    "钱这个货发质么吗颜库几价卖吗买优惠险运费会员还没给点开关电话号码时间后退换坏补邮寄适肤区别较赠还实体体过应当对为与来东见现产国内业页级别种条双只罐装瓶张单标样丽黄蓝红绿紫长宽厚轻硬软旧试"
    "链联请问说讲尝鲜岁儿妈爸盖钢铁铜纯棉丝麻绒织纺缩褪洗热温湿干燥尘灯线头声听视屏触无极档饭锅炉",
)

PINYIN: tuple[tuple[str, str], ...] = (
    ("duo ?shao ?qian", "多少钱"), ("duo ?qian", "多少钱"), ("zen ?me ?mai", "怎么卖"), ("sha ?jia", "什么价"), ("jia ?ge", "价格"),
    ("ji ?qian", "多少钱"), ("bao ?you", "包邮"), ("you ?huo", "有货"), ("ku ?cun", "库存"), ("yan ?se", "颜色"),
    ("chi ?ma", "尺码"), ("cai ?zhi", "材质"), ("fa ?huo", "发货"), ("you ?hui", "优惠"), ("dao ?huo", "到货"),
    ("tui ?huo", "退货"), ("ni ?hao", "你好"), ("xie ?xie", "谢谢"), ("zhe ?ge", "这个"), ("duo ?da", "多大"), ("zhi ?liang", "质量"),
    ("neng ?pian ?yi", "能便宜"), ("pian ?yi", "便宜"), ("kuai ?di", "快递"), ("rong ?liang", "容量"), ("bao ?xiu", "保修"),
    ("shen ?me", "什么"), ("you ?mei ?you", "有没有"), ("hao ?lian ?jie", "号链接"), ("lian ?jie", "链接"),
    ("yi ?hao", "1号"), ("er ?hao", "2号"), ("san ?hao", "3号"),
)  # fmt: skip

HOMOPHONES: tuple[tuple[str, str], ...] = (
    ("💰|💵|💴|🪙", "钱"),
    ("多少米|多少银子|多少刀|多少软妹币|几米一|多钱|多少q|多少铜板|多小钱|多少前|多少线|夺少钱|几多钱|多少饯", "多少钱"),
    ("肿么|咋个|怎莫|怎末|咋|怎麽", "怎么"),
    ("神马|什莫|什末|啥子|嘛|啥", "什么"),
    ("木有|么有|没得|冇", "没有"),
    ("包油|包由|包郵|保邮", "包邮"),
    ("材制|材置|材纸", "材质"),
    ("尺马|吃码|尺妈", "尺码"),
    ("颜射|言色|颜涩", "颜色"),
    ("酷存|库村|裤存", "库存"),
    ("优会|有惠|幽会|优慧", "优惠"),
    ("发或|发活|發貨", "发货"),
    ("便移|便易|偏宜|便宜一点", "便宜"),
    ("连接|练接|链结|莲接", "链接"),
    ("价各|价个|价额", "价格"),
    ("肝皮|干皮肤", "干皮"),
    ("克吗|kg", "公斤"),
    ("造假|照假", "造假"),
)

ENGLISH_WORDS: tuple[str, ...] = (
    "price", "much", "cost", "costs", "shipping", "delivery", "deliver", "stock", "available", "material", "warranty",
    "weight", "weigh", "colour", "color", "colors", "discount", "coupon", "refund", "return", "exchange", "capacity", "size", "sizes",
    "battery", "waterproof", "ingredients", "recommend", "difference", "compare", "better", "broken", "damaged", "origin",
    "sensitive", "dishwasher", "machine", "washable", "hello", "thanks", "thank", "sold", "promotion", "cheaper", "expensive",
    "flavor", "flavour", "dimensions", "guarantee", "brand", "bluetooth", "power", "watts", "express", "courier", "quality",
    "invoice", "which", "what", "where", "when", "does", "this", "that", "there", "have", "many", "left", "free", "ship",
    "long", "heavy", "damage", "ballpark", "come", "from", "made", "wash", "clean", "charge", "with", "real", "human", "robot",
)  # fmt: skip
"""Words a misspelt English word may be corrected to (besides the words of the catalogue)."""

ATTRIBUTES: dict[str, tuple[str, str]] = {
    "keep_warm": (r"保温|保冷|保热|不凉|会凉|凉得快|能热多久|恒温|还烫|烫吗|热多久|保多久|几个小时热|还热|冰块|保几个", r"keeps? (?:\w+ ){0,2}(?:hot|warm|cold)|insulat\w*|stays? (?:hot|warm|cold)"),
    "material": (
        r"几支|多少支|支数|材质|面料|料子|布料|材料|用料|什么做|做的什么|什么皮|什么棉|什么布|什么木|纯棉|真皮|真丝|不锈钢|陶瓷|实木|含棉|羊毛|塑料的|硅胶|玻璃的|内胆|什么钢|棉的|麻的|丝的|蚕丝|亚麻|化纤|涤纶|聚酯|乳胶含量|什么绒|绒的|竹的|料",
        r"thread count|materials?|fabrics?|made (?:of|from|out of|with)|what(?:'s| is) it made|leather|cotton|steel|ceramic|silk|wool|lining|filling",
    ),
    "fill": (r"填充|充绒|含绒|绒量|什么绒|里面是什么|鸭绒|鹅绒", r"fill\w*|down content|stuffed|inside the"),
    "ingredients": (r"成分|配料|配方|含有什么|含什么|含不含|添加剂|防腐剂|酒精|香精|糖分|无糖|有糖|过敏原|添加", r"ingredients?|contains?|formula|additives?|preservatives?|alcohol|fragrance[- ]free|sugar|allergens?|nuts?\b|vegan|gluten"),
    "skin_type": (r"肤质|敏感肌|敏感皮|油皮|干皮|混油|混干|痘肌|痘痘肌|什么皮肤|皮肤敏感|干性|油性|适合.{0,3}皮肤", r"skin types?|sensitive skin|oily skin|dry skin|combination skin|acne[- ]prone"),
    "battery": (r"电池|续航|待机|充一次|充满|能用多久|用多久|用几天|多久没电|毫安|mah", r"battery|batteries|mah|standby|how long (?:does|will|can) (?:it|the \w+|they) (?:last|run|work)|per charge|run ?time|play ?time"),
    "charging": (r"充电|快充|充电口|充电器|接口|typec|type-c|usb", r"charging|charger|recharg\w*|usb|type[- ]?c|\bports?\b|how long .{0,12}charge"),
    "power": (r"功率|多少瓦|几瓦|耗电|费电|多少w|瓦数|大功率", r"power|watts?|wattage|how many w\b|electricity|energy (?:use|consumption)"),
    "voltage": (r"电压|伏|220v|110v", r"voltage|volts?|220v|110v"),
    "waterproof": (r"防水|防泼|防雨|ipx|进水|防溅|淋雨|下水|碰水", r"water ?proof|water[- ]resistan\w*|splash|rain|ipx\d|under ?water|swim"),
    "warranty": (r"保修|质保|保几年|保多久|保养期|包修|坏了.{0,3}修|维修期", r"warrant\w+|guarantee[ds]?\b"),
    "capacity": (r"容量|多少毫升|几毫升|多少升|几升|装多少|能装|净含量|多少ml|多少l\b|多大容量|装得下|放得下|多少g|多少粒|多少片|多少抽|几人份", r"capacity|volume|how many (?:ml|millilit\w+|lit\w+|oz|ounces|pieces|capsules|sheets)|how much (?:\w+ ){0,3}(?:hold|fit)s?|\bholds?\b|net (?:content|weight)|\bml\b"),
    "weight": (r"多重|重量|净重|毛重|几斤|几克|多少克|多少斤|沉不沉|沉吗|重不重|重吗|轻不轻|轻吗|多沉", r"weigh\w*|how heavy|heavy|light ?weight|\blight\b"),
    "size": (r"尺寸|尺码|多大|大小|码数|什么码|几码|多长|多宽|多高|长宽|直径|规格|身高|体重|偏大|偏小|选码|穿几|多少厘米|几厘米|几寸|多少寸|长度|宽度|高度|\d{2,3}斤|1米\d", r"sizes?|sizing|dimensions?|how (?:big|large|long is|wide|tall|high|small)|measure\w*|length|width|height|diameter|\bfit\b|true to size|inches|\bcm\b"),
    "color": (r"颜色|什么色|几个色|几种色|色号|哪些色|有.{1,3}色|黑色|白色|红色|蓝色|绿色|粉色|灰色|紫色|黄色|米色|棕色|别的色|色系", r"colou?rs?|shades?|in (?:black|white|red|blue|green|pink|grey|gray|purple|yellow|beige|brown)|\b(?:black|white|red|blue|green|pink|grey|gray|purple|beige) (?:one|version)"),
    "origin": (r"产地|哪里产|哪产|哪儿产|哪里生产|哪生产|原产|进口|国产|哪里的|哪里做的|生产地|哪个国家", r"origin|where (?:is|are|was|were) (?:\w+ ){1,3}(?:made|from|produced|grown|manufactured)|made in|imported|country|where does .{1,20}come from"),
    "care": (r"怎么洗|机洗|手洗|水洗|清洗|保养|洗衣机|洗碗机|缩水|掉色|褪色|打理|好洗|能洗|可以洗|怎么清洁|清洁|起球|变形|怎么晾|烘干|拆洗", r"wash\w*|clean\w*|dishwasher|shrink\w*|fade|care\b|machine[- ]wash|iron|dry ?clean|tumble|maintain|maintenance|pilling"),
    "shelf_life": (r"保质期|过期|放多久|保存多久|生产日期|有效期|能放多久|日期新鲜|新鲜吗", r"shelf[- ]?life|expir\w+|best before|how long (?:can|does) (?:it|this) (?:keep|stay fresh)|production date"),
    "storage": (r"怎么保存|储存|存放|冷藏|冷冻|放冰箱|常温", r"stor(?:e|age|ing)\b|refrigerat\w*|fridge|freez\w+"),
    "usage": (r"怎么用|用法|使用方法|一天几次|一天用|怎么吃|怎么喝|怎么使用|怎么冲|步骤|早晚|几次|怎么安装|安装|操作|好用吗.{0,2}怎么", r"how (?:to|do (?:i|you)|should i|often).{0,14}(?:use|apply|take|drink|eat|brew|install|set ?up|assemble)|usage|directions?|instructions?|install\w*|times a day"),
    "flavor": (r"口味|什么味|味道|香味|香型|几种味|辣不辣|辣吗|甜不甜|甜吗|苦吗|酸吗|好吃|好喝|口感|有味|异味|香吗", r"flavou?rs?|tastes?|scents?|smell\w*|fragrance|spicy|sweet|bitter"),
    "noise": (r"噪音|声音大|吵不吵|吵吗|静音|分贝|响不响|降噪|隔音|anc", r"nois[ey]\w*|\banc\b|loud|decibels?|quiet|silent"),
    "temperature": (r"温度|耐热|耐高温|微波炉|烤箱|高温|多少度|明火|电磁炉|燃气|煤气|电陶炉|什么炉|加热|几度", r"temperatures?|microwave\w*|oven|heat[- ]?(?:proof|resistan\w*)|induction|stove|degrees"),
    "compatibility": (r"兼容|适配|支持苹果|安卓|苹果手机|什么手机|能连|连接|蓝牙|配对|wifi|无线|支持什么|适用什么机|ios", r"compatib\w*|works? with|iphone|android|bluetooth|pair\w*|connect\w*|wi-?fi|wireless|\bios\b|support"),
    "certification": (r"认证|检测|质检|检验|3c|有机|报告|资质|许可|合格证|证书|安全标准", r"certif\w+|tested|organic|safety standard|\bce\b|fda|approved|bpa"),
    "package": (r"包含什么|包括什么|里面有|几件套|套装|配件|附送|盒子里|包装|送礼|礼盒|一套几|一盒几|一箱几|一包几|几个装|有几个", r"what(?:'s| is) (?:included|in the (?:box|set|package))|included?|in the box|packag\w+|comes? with|accessor\w+|gift ?box|gift wrap\w*|how many (?:\w+ )?(?:in|per|does)|pieces"),
    "audience": (r"适合什么人|适合谁|几岁|多大的?孩子|孕妇|老人|小孩|宝宝能|儿童|男生|女生|男士|女士|学生|适用人群|适合.{0,4}(?:用|穿|吃|喝|戴)|能不能给|妈妈能", r"suitable|what age|\bages?\b|kids?|child\w*|baby|babies|pregnan\w*|elderly|for (?:men|women|seniors|students|beginners)|who (?:is|should)"),
    "brand": (r"品牌|什么牌|牌子|哪家的|厂家", r"brand|manufacturer|who makes"),
    "model": (r"型号|款式|版本|哪一款|几代|新款|老款", r"model|version|generation|styles?"),
    "thickness": (r"厚不厚|厚吗|薄不薄|薄吗|多厚|厚度|透不透|透吗", r"thick\w*|\bthin\b|see[- ]through"),
    "season": (r"季节|夏天|冬天|春秋|热不热|闷不闷|透气|凉快|保暖|暖和", r"season|summer|winter|breathab\w*|warm enough|\bcool\b"),
    "spf": (r"防晒|spf|pa值|pa\+|指数|倍数|多少倍|紫外线|upf|晒黑|晒伤", r"spf|sun ?(?:screen|protection)|\buv\b|upf"),
    "modes": (r"几档|档位|几种模式|模式|几个档|几挡", r"settings?|modes?|gears?|levels?|how many speeds"),
    "speed": (r"转速|风速|每分钟|震动", r"speeds?|rpm|vibrat\w*"),
    "range": (r"距离|多远|范围|覆盖|面积|多少平", r"range|distance|how far|coverage|area|square"),
    "brightness": (r"亮度|流明|亮不亮|色温|护眼|频闪", r"bright\w*|lumens?|colou?r temperature|flicker"),
    "load": (r"承重|能承|负重|受力|能坐|坐得|坐.{0,6}斤|多重的人|\d+斤.{0,4}(?:坐|能|可以)|承受|撑得|压坏|压塌", r"load|hold (?:a|an|my|someone|people)|can (?:it|this) (?:hold|take|support)|heavy person|hold up to|support .{0,8}(?:kg|weight)|max(?:imum)? weight"),
    "hair": (r"发质|头发|油头|头皮|干枯|染发|烫发", r"hair|scalp"),
    "room": (r"多大的?(?:房间|屋|卧室|客厅)|多少平|几平|适用面积|房间|卧室|客厅", r"rooms?|bedroom|square"),
    "shading": (r"遮光|透光|挡光|全遮", r"black ?out|shad(?:e|ing)|block\w* (?:the )?light|light block\w*"),
    "brewing": (r"怎么泡|冲泡|泡茶|水温|多少度水|泡几次|泡多久", r"brew\w*|steep\w*|infus\w*|water temperature"),
    "scent": (r"味道|香味|香型|什么味|香吗|气味|刺鼻", r"scents?|smell\w*|fragran\w*"),
    "selling_points": (r"特点|优点|卖点|好在哪|亮点|优势|有什么用|功能|作用|效果|有什么好|介绍一下|介绍下|讲讲|说说|详细说|详细介绍|质量怎么样|质量好|质量如何|怎么样", r"features?|what(?:'s| is) (?:so )?(?:good|special)|benefits?|advantages?|tell me (?:more )?about|what does (?:it|this) do|introduce|describe|any good|quality"),
}
"""Canonical attribute -> (Chinese pattern, English pattern). Earlier entries win ties."""

ATTRIBUTE_KEYS: dict[str, tuple[str, ...]] = {
    "keep_warm": ("insulation", "heat_retention", "keep", "thermal", "temperature_retention", "hours_hot", "hot", "cold"),
    "material": ("material", "fabric", "composition", "made_of", "shell", "filling", "lining", "liner", "thread_count", "yarn", "upper", "inner", "outer", "texture", "body"),
    "ingredients": ("ingredient", "ingredients", "composition", "formula", "contains", "active", "allergen", "allergens", "additives", "sugar", "nutrition", "alcohol", "fragrance"),
    "skin_type": ("skin_type", "skin", "suitable_for", "suitable", "skin_types"),
    "battery": ("battery", "playback", "battery_life", "battery_capacity", "runtime", "endurance", "playtime", "standby"),
    "charging": ("charging", "interface", "charge", "charge_time", "charging_time", "port", "interface", "usb", "charger", "power_supply", "connector"),
    "power": ("power", "wattage", "rated_power", "watt", "watts", "consumption", "energy"),
    "voltage": ("voltage", "rated_voltage", "input"),
    "waterproof": ("waterproof", "water_resistance", "water_resistant", "ip_rating", "ipx", "water", "waterproofing", "ip", "protection"),
    "warranty": ("warranty", "guarantee", "warranty_period"),
    "capacity": ("capacity", "volume", "net_content", "pack", "content", "net_weight", "net", "quantity", "count", "servings", "storage_capacity", "pack_size", "pieces"),
    "weight": ("weight", "net_weight", "gross_weight"),
    "size": ("size", "sizes", "dimensions", "dimension", "length", "width", "height", "diameter", "measurements", "fit", "size_range", "spec", "specification", "heel", "screen_size"),
    "color": ("color", "colour", "shade", "colors", "colours", "shade", "shades"),
    "origin": ("origin", "place_of_origin", "made_in", "country", "producer", "region", "source"),
    "care": ("care", "washing", "wash", "cleaning", "maintenance", "care_instructions", "dishwasher", "dishwasher_safe", "machine_wash", "washable"),
    "shelf_life": ("shelf_life", "expiry", "expiration", "best_before", "shelf", "validity"),
    "storage": ("storage", "store", "storing", "storage_conditions", "keeping"),
    "scent": ("scent", "fragrance", "aroma", "smell", "flavor"),
    "shading": ("shading", "blackout", "light_blocking"),
    "brewing": ("brewing", "usage"),
    "usage": ("usage", "how_to_use", "use", "directions", "instructions", "brewing", "dosage", "installation", "application", "frequency", "cooking"),
    "flavor": ("flavor", "flavour", "flavors", "flavours", "taste", "scent", "fragrance", "aroma", "smell", "roast", "spiciness"),
    "fill": ("fill", "filling", "down", "stuffing"),
    "noise": ("noise", "noise_level", "sound", "noise_cancelling", "decibel"),
    "temperature": ("temperature", "heat_source", "heat_resistance", "temperature_range", "microwave", "oven", "microwave_safe", "oven_safe", "heat", "stove", "cooktop", "induction"),
    "compatibility": ("compatibility", "compatible", "connectivity", "bluetooth", "connection", "wifi", "wireless", "supported_devices", "system"),
    "room": ("room", "room_size", "area", "coverage"),
    "hair": ("hair_type", "hair"),
    "certification": ("certification", "certifications", "certificate", "standard", "safety", "organic", "test_report", "bpa", "bpa_free"),
    "package": ("package", "pack", "included", "in_the_box", "contents", "package_contents", "accessories", "set", "packaging", "pack", "includes", "gift_box", "pieces", "pack_size", "quantity"),
    "audience": ("audience", "age", "suitable_for", "suitable", "target", "age_range", "for", "recommended_age", "gender", "suitability"),
    "brand": ("brand", "manufacturer", "maker"),
    "model": ("model", "version", "style", "generation"),
    "thickness": ("thickness", "gsm", "density", "size", "dimensions"),
    "season": ("season", "breathability", "warmth", "seasons"),
    "spf": ("spf", "sun_protection", "upf", "pa", "uv_protection"),
    "modes": ("modes", "mode", "settings", "levels", "gears", "speeds"),
    "speed": ("speed", "rpm"),
    "range": ("range", "coverage", "distance", "area"),
    "brightness": ("brightness", "colour_temperature", "lumens", "color_temperature", "light", "flicker"),
    "load": ("load", "load_capacity", "max_load", "weight_capacity", "max_weight"),
}
"""Canonical attribute -> keys (or words of keys) merchants use for it, most specific first."""

ATTRIBUTE_NAMES: dict[str, tuple[str, str]] = {
    "keep_warm": ("保温", "heat retention"), "material": ("材质", "material"), "ingredients": ("成分", "ingredients"),
    "skin_type": ("适用肤质", "skin type"), "battery": ("续航", "battery life"), "charging": ("充电", "charging"), "power": ("功率", "power"),
    "voltage": ("电压", "voltage"), "waterproof": ("防水", "water resistance"), "warranty": ("保修", "warranty"),
    "capacity": ("容量", "capacity"), "weight": ("重量", "weight"), "size": ("尺寸", "size"), "color": ("颜色", "colour"),
    "origin": ("产地", "origin"), "care": ("清洁保养", "care"), "shelf_life": ("保质期", "shelf life"), "storage": ("保存方式", "storage"),
    "usage": ("使用方法", "how to use it"), "flavor": ("口味", "flavour"), "noise": ("噪音", "noise"), "fill": ("填充物", "filling"), "temperature": ("耐温", "temperature"),
    "compatibility": ("兼容性", "compatibility"), "certification": ("认证", "certification"), "package": ("包装内容", "what's included"),
    "audience": ("适用人群", "who it suits"), "brand": ("品牌", "brand"), "model": ("款式", "model"), "thickness": ("厚度", "thickness"),
    "season": ("适用季节", "season"), "spf": ("防晒指数", "sun protection"), "modes": ("模式", "modes"), "speed": ("转速", "speed"), "range": ("使用范围", "range"),
    "brightness": ("亮度", "brightness"), "load": ("承重", "load"), "hair": ("适用发质", "hair type"), "room": ("适用面积", "room size"), "shading": ("遮光", "shading"), "scent": ("香味", "scent"), "brewing": ("冲泡方法", "brewing"),
}  # fmt: skip
"""Canonical attribute -> how the host calls it in (Chinese, English)."""

KEY_NAMES_ZH: dict[str, str] = {
    "net_content": "净含量", "net_weight": "净重", "volume": "容量", "dimensions": "尺寸", "length": "长度", "height": "高度", "width": "宽度",
    "diameter": "直径", "fabric": "面料", "filling": "填充物", "lining": "内衬", "liner": "内胆", "fit": "版型", "shelf_life": "保质期",
    "charging_time": "充电时间", "charge_time": "充电时间", "port": "接口", "bluetooth": "蓝牙", "connectivity": "连接方式", "noise_level": "噪音",
    "roast": "烘焙程度", "servings": "份量", "pieces": "件数", "modes": "模式", "thickness": "厚度", "season": "适用季节", "suitable_for": "适用人群",
    "insulation": "保温时长", "heat_retention": "保温时长", "battery_life": "续航", "battery_capacity": "电池容量", "wash": "洗涤方式", "washing": "洗涤方式",
    "style": "款式", "scent": "香味", "flavor": "口味", "flavour": "口味", "taste": "口感", "spec": "规格", "specification": "规格", "texture": "质地", "heat_source": "适用热源", "playback": "播放时间", "pack": "装量", "shade": "色号", "finish": "妆效", "colour_temperature": "色温", "interface": "接口", "pa": "PA值", "fill": "填充物", "hair_type": "适用发质", "room": "适用面积", "microwave": "微波炉使用", "charging": "充电", "colour": "颜色", "noise_cancelling": "降噪",
}  # fmt: skip
"""Attribute key -> how the host calls it in Chinese, where it differs from the canonical attribute's name."""

STOP_ZH: tuple[str, ...] = (
    "主播", "老板", "老板娘", "小姐姐", "小哥哥", "姐姐", "哥哥", "亲", "宝宝们", "宝贝", "家人们", "请问", "想问", "问一下", "问下", "麻烦", "一下", "你们", "我们", "你家", "咱家", "咱们", "店里",
    "这个", "那个", "这款", "那款", "这", "那", "它", "是", "的", "了", "呢", "吗", "吧", "啊", "呀", "哦", "哈", "嘛", "么", "多少", "什么", "怎么", "哪", "几", "有", "没有", "没", "还", "能", "可以", "会", "要",
    "想", "我", "你", "您", "他", "她", "现在", "今天", "到底", "具体", "大概", "一共", "一个", "一件", "一瓶", "一盒", "一支", "一套", "一双", "一条", "一台", "一只", "一包", "买", "卖", "拍", "下单", "入手", "需要", "给", "在", "就", "都", "也", "和",
    "跟", "对", "不", "好", "很", "太", "真", "说", "看", "讲", "介绍", "告诉", "求", "急", "快", "直接", "商品", "产品", "东西", "链接", "号", "个", "款", "件", "钱", "价", "价格", "价钱", "售价", "元", "块", "便宜", "贵", "优惠",
    "活动", "折", "券", "库存", "货", "现货", "包邮", "邮", "运费", "快递", "发货", "发", "到", "送", "退", "换", "质量", "怎样", "样", "如何", "还是", "或者", "上", "下", "里", "大家", "直播间", "直播", "链", "接", "第", "再", "最", "得", "着", "过", "多", "少", "大", "小",
    "刚才", "刚刚", "刚", "上面", "屏幕", "图", "图片", "一直", "已经", "可", "以", "用", "吃", "喝", "穿", "戴", "适合", "推荐", "哪个", "哪款", "哪些", "打", "做", "开", "为", "呗", "咩", "滴", "捏", "哇", "诶", "哎", "嗯", "emmm", "hi", "嗨", "哈喽", "您好", "你好",
)  # fmt: skip

STOP_EN: frozenset[str] = frozenset(
    """
    a an the is are was were be been am do does did doing have has had i you we they he she it its it's this that these
    those there here my your our their me us them of in on at to for from with by and or but if so as not no yes can could
    will would should may might must shall what whats what's which who whom whose when where why how much many any some all
    one ones please pls plz hi hello hey host guys dear sir madam tell say know want wanna need get got buy buying order
    ordering purchase sell selling price prices priced pricing cost costs how's about now today just really very too more
    less also still yet right ok okay thanks thank item items product products link number thing things stuff stock left
    available sold out ship shipping shipped deliver delivery delivered free discount discounts sale deal deals coupon promo
    promotion off cheaper cheap expensive money yuan rmb dollars dollar bucks usd quick question asking ask wondering wonder
    long take takes does're i'm you're we're let let's go going come comes like love good nice great current currently
    exactly again per each than then up there's that's u ur r im dont don't isn't doesn't can't only even ever something
    anything someone anyone show shop store streamer bro sis mate man live recommend best better which's give gimme see look
    looks looking think sure actually maybe total altogether me's
    """.split()  # noqa: SIM905
)
