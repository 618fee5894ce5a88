# ruff: noqa: E501 - tables of words read better on long lines
"""The host's sentences. ``{…}`` slots are filled with typed facts only; several wordings of one meaning are used in turn."""

from __future__ import annotations

from gpu_engine.session.spec import Lang

PHRASES: dict[str, dict[Lang, tuple[str, ...]]] = {
    "price": {
        "zh": ("{title}现在是{price}。", "{title}，直播间价格是{price}。", "您问的{title}，价格{price}。"),
        "en": ("{title} is {price}.", "The price of {title} is {price}.", "{title} costs {price} right now."),
    },
    "price_link": {
        "zh": ("{title}现在{price}，在{link}号链接。", "您问的{title}，价格{price}，点{link}号链接就能看到。", "{link}号链接{title}，直播间价格是{price}。"),
        "en": (
            "{title} is {price}, at link number {link}.",
            "The price of {title} is {price}. You will find it at link number {link}.",
            "Link number {link}, {title}, costs {price}.",
        ),
    },
    "price_listed": {
        "zh": ("{title}的划线价是{list_price}，直播间现在是{price}。",),
        "en": ("The list price of {title} is {list_price}; right now it is {price}.",),
    },
    "promotion_too": {
        "zh": ("另外有活动：{promotion}。", "现在的活动是：{promotion}。"),
        "en": ("There is also an offer: {promotion}.", "The current offer: {promotion}."),
    },
    "sold_out_too": {"zh": ("不过目前已经没货了。",), "en": ("It is out of stock at the moment, though.",)},
    "stock": {
        "zh": ("{title}目前库存还有{stock}件。", "有货的，{title}还剩{stock}件。", "{title}现货还有{stock}件。"),
        "en": ("We have {stock} of {title} in stock.", "Yes, {title} is available: {stock} left.", "{title}: {stock} in stock right now."),
    },
    "stock_none": {
        "zh": ("{title}目前没货了，补货时间我会跟店里确认。", "很抱歉，{title}已经售罄，什么时候补货我帮您问店里。"),
        "en": (
            "{title} is out of stock right now; I will check with the shop when it comes back.",
            "Sorry, {title} is sold out. I will ask the shop about the restock.",
        ),
    },
    "stock_unknown": {
        "zh": ("{title}的库存以商品链接页面显示为准，我会跟店里确认。",),
        "en": ("Please see the product page for the stock of {title}; I will check with the shop.",),
    },
    "attribute": {
        "zh": ("您问的{title}，{name}：{value}。", "关于这款{title}，{name}：{value}。"),
        "en": ("You asked about {title}, {name}: {value}.", "Let me see, {title}, {name}: {value}."),
    },
    "attribute_too": {"zh": ("{name}：{value}。", "{name}是{value}。"), "en": ("The {name}: {value}.", "And the {name}: {value}.")},
    "points": {"zh": ("{title}的特点是：{value}。", "给您介绍一下{title}：{value}。"), "en": ("About {title}: {value}.", "What stands out about {title}: {value}.")},
    "point": {"zh": ("{title}：{value}。", "关于{title}，{value}。"), "en": ("{title}: {value}.", "About {title}: {value}.")},
    "attribute_missing": {
        "zh": ("{title}的{name}我这边没有资料，跟店里确认后再告诉您。", "{title}的{name}我不敢随便说，我会跟店里确认。"),
        "en": (
            "I do not have the {name} of {title} at hand; I will check with the shop.",
            "I would rather not guess the {name} of {title}. I will check with the shop.",
        ),
    },
    "check": {
        "zh": ("这个我手上没有资料，跟店里确认后再告诉您。", "这个问题我不敢随便说，我会跟店里确认。", "这个我先跟店里确认一下。"),
        "en": (
            "I do not have that information at hand; I will check with the shop.",
            "I would rather not guess. I will check that with the shop.",
            "Let me check that with the shop.",
        ),
    },
    "unknown_product": {
        "zh": ("您问的这款不在我手上的商品资料里，我会跟店里确认。", "这款我的资料里没有，我帮您跟店里确认一下。"),
        "en": (
            "I cannot find that product in my list; I will check with the shop.",
            "That one is not in my product list. Let me check with the shop.",
        ),
    },
    "which": {
        "zh": ("您想了解哪一款？可以打商品名或者链接号。", "麻烦说一下是哪一款，打链接号就行。"),
        "en": ("Which product do you mean? Its name or link number will do.", "Tell me the product name or link number and I will look it up."),
    },
    "shipping": {"zh": ("发货的事说一下，{value}。", "关于发货和快递，{value}。"), "en": ("About shipping and delivery: {value}.", "On shipping and delivery: {value}.")},
    "after_sales": {"zh": ("售后的事说一下，{value}。", "关于我们的售后，{value}。"), "en": ("About after-sales service: {value}.", "On returns and service: {value}.")},
    "after_sales_trouble": {
        "zh": ("很抱歉给您带来不便，我会转给店里的客服跟进。", "抱歉让您遇到这个问题，店里的客服会跟进处理。"),
        "en": ("I am sorry about that. I will pass it on so that customer service follows up.", "Sorry for the trouble; customer service will follow up."),
    },
    "order": {
        "zh": ("订单信息我这边看不到，请联系店铺客服查询，我也会转告店里确认。",),
        "en": ("I cannot see orders from here; please contact customer service, and I will check with the shop too.",),
    },
    "complaint": {
        "zh": ("很抱歉让您有不好的体验，我会把情况转给店里，由客服跟进处理。", "对不起，让您失望了，店里的客服会来跟进您的问题。"),
        "en": (
            "I am sorry you had a bad experience. I will pass this on and our customer service will follow up.",
            "I am sorry to hear that. Customer service will follow up with you.",
        ),
    },
    "promotion": {"zh": ("{title}现在有活动：{promotion}。", "{title}目前的活动是：{promotion}。"), "en": ("{title} has an offer now: {promotion}.", "The current offer on {title}: {promotion}.")},
    "promotion_none": {
        "zh": ("{title}目前没有额外的活动，价格是{price}。", "{title}现在就是{price}，暂时没有别的活动。"),
        "en": ("There is no promotion on {title} right now; the price is {price}.", "{title} is {price}; there is no promotion at the moment."),
    },
    "promotion_none_shop": {
        "zh": ("目前没有额外的活动，价格以商品链接页面为准。",),
        "en": ("There is no extra offer right now; the product page shows the price.",),
    },
    "compare_price": {
        "zh": ("{title}是{price}，{other_title}是{other_price}。",),
        "en": ("{title} is {price} and {other_title} is {other_price}.",),
    },
    "compare_attribute": {
        "zh": ("{name}方面，{title}是{value}，{other_title}是{other_value}。",),
        "en": ("As for {name}, {title}: {value}; {other_title}: {other_value}.",),
    },
    "compare_which": {"zh": ("您想拿哪两款比？打两个链接号就行。",), "en": ("Which two would you like to compare? Two link numbers will do.",)},
    "recommend": {
        "zh": ("可以看看{title}，{value}，现在{price}。", "我给您介绍{title}：{value}，价格{price}。"),
        "en": ("You could look at {title}: {value}. It is {price}.", "How about {title}? {value}. It costs {price}."),
    },
    "recommend_plain": {"zh": ("可以看看{title}，现在{price}。",), "en": ("You could look at {title}, at {price}.",)},
    "identity": {
        "zh": ("我是AI数字人主播，由人工智能生成，商品问题都可以问我。", "我是AI数字人，不过商品信息都来自店里的资料。"),
        "en": ("I am an AI digital human, and I answer from the shop's own product data.", "I am an AI host generated by a computer; ask me anything about the products."),
    },
    "greeting": {
        "zh": ("欢迎来到直播间，想了解哪一款可以打在公屏上。", "欢迎新来的朋友，有问题随时问我。", "大家好，欢迎欢迎，想看哪款告诉我。"),
        "en": ("Welcome to the stream! Tell me which product you would like to know about.", "Hello and welcome; ask me anything about the products.", "Hi, glad to have you here."),
    },
    "thanks": {"zh": ("不客气，还有问题随时问我。", "谢谢您的支持。"), "en": ("You are welcome; ask me anything else.", "Thank you for your support.")},
    "chitchat": {
        "zh": ("谢谢大家的互动，想看哪款商品告诉我。", "哈哈，谢谢捧场，商品上有问题随时问我。", "谢谢支持，我接着给大家介绍。"),
        "en": ("Thanks for chatting; tell me which product you would like to see.", "Thank you! Ask me anything about the products.", "Thanks for the kind words, let me carry on."),
    },
    "faq": {"zh": ("这个我来说一下，{value}", "您问的这个问题，{value}"), "en": ("Here is what I can tell you: {value}", "Let me answer that one: {value}")},
    "safe": {"zh": ("这个问题请以商品页面为准，我会跟店里确认。",), "en": ("Please rely on the product page for that; I will check with the shop.",)},
}  # fmt: skip
