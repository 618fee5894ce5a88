"""Sentences a host says, for measuring speech: invented, zh and en, with numbers as they are written."""

from __future__ import annotations

from typing import Literal

SENTENCES: dict[Literal["zh", "en"], tuple[str, ...]] = {
    "zh": (
        "大家好，欢迎来到我们的直播间！",
        "今天给大家带来的是一款轻薄保温杯，容量500ml，保冷24小时。",
        "原价199元，今天直播间到手价只要79元，还送收纳袋。",
        "三号链接的玻尿酸面膜，一盒20片，券后59.9元。",
        "库存还有1234件，喜欢的朋友可以直接下单。",
        "这款面料是百分之百纯棉，亲肤透气，可以机洗。",
        "有朋友问多少钱，现在下单只要九块九，包邮到家。",
        "支持7天无理由退货，48小时内发货，放心购买。",
        "充电10分钟，可以听歌3小时，电池容量5000mAh。",
        "晚上8:30我们还有一轮福利，记得回来看看。",
        "敏感肌可以用吗？可以的，配方里没有酒精和香精。",
        "身高160到170的朋友，建议选择M码，喜欢宽松可以拍大一码。",
        "谢谢大家的支持，点点关注，不要错过下一个宝贝。",
        "锅底加厚，受热均匀，电磁炉和燃气灶都可以用。",
        "有没有别的颜色？有的，白色、蓝色和粉色都有现货。",
        "孩子两岁以上就可以玩，零件比较大，不容易误吞。",
    ),
    "en": (
        "Hello everyone, and welcome to our live room!",
        "Today I want to show you a light vacuum flask that keeps drinks cold for 24 hours.",
        "It was $49.99, and right now you can get it for only $19.99.",
        "Link number 3 is our hydrating face mask, 20 sheets in one box.",
        "We have 1,234 pieces left in stock, so take your time.",
        "The fabric is one hundred percent cotton, soft on the skin, and you can wash it in the machine.",
        "Someone asked about the price, and it is $9.90 with free shipping.",
        "You can return it within 7 days, and we ship within 48 hours.",
        "Charge it for 10 minutes and you can listen to music for 3 hours.",
        "At 8:30 pm we have another round of offers, so please come back.",
        "Is it good for sensitive skin? Yes, there is no alcohol and no perfume in it.",
        "If you like a loose fit, please take one size up.",
        "Thank you all for your support, and do follow us for the next one.",
        "The thick base heats evenly and works on gas and induction.",
        "Are there other colors? Yes, white, blue and pink are all here.",
        "Children from two years can play with it, because the parts are large and smooth.",
    ),
}
