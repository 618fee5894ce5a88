"""What each quality rule says, in Chinese and English, and how its value is shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """``shown`` formats the measured value and the limit, with the unit."""

    what_zh: str
    remedy_zh: str
    what_en: str
    remedy_en: str
    shown: str


ADVICE: dict[str, Advice] = {
    "no_face": Advice(
        "没有找到人脸",
        "请使用一张正脸、光线充足、脸部无遮挡的单人照片。",
        "No face was found",
        "Use a photograph of one person, facing the camera, well lit and uncovered.",
        "{:.0f}",
    ),
    "several_faces": Advice(
        "照片里有多张人脸",
        "请裁剪到只剩一个人，或换一张单人照。",
        "There are several faces",
        "Crop the picture to one person, or use one taken alone.",
        "{:.0f}",
    ),
    "face_small": Advice(
        "人脸太小，细节不足",
        "请发送原图而不是缩略图，或靠近些拍：两眼间距 120 像素以上效果最好。",
        "The face is too small for detail",
        "Send the original, not a preview, or stand closer: 120 px between the eyes or more is best.",
        "{:.0f} px",
    ),
    "border": Advice(
        "头部离画面边缘太近",
        "请完整拍下头发、两侧和肩膀，四周留出空间。",
        "The head is too close to the edge",
        "Leave room around hair, ears and shoulders.",
        "{:.2f} of the face height",
    ),
    "yaw": Advice(
        "头转得太偏",
        "请正对镜头，两只耳朵露出差不多。",
        "The head is turned too far",
        "Face the camera so that both ears show alike.",
        "{:.0f}°",
    ),
    "pitch": Advice(
        "头抬得或低得太多",
        "请把镜头放在眼睛的高度，平视镜头。",
        "The head is tipped up or down too far",
        "Put the camera at eye level and look straight ahead.",
        "{:.0f}°",
    ),
    "roll": Advice(
        "头歪得太多",
        "请把头摆正，或先把照片旋转扶正。",
        "The head is tilted too far",
        "Hold the head upright, or straighten the picture first.",
        "{:.0f}°",
    ),
    "eyes_closed": Advice(
        "眼睛没有睁开",
        "请自然睁眼看向镜头再拍一张。",
        "The eyes are not open",
        "Take another one with both eyes open, looking at the camera.",
        "{:.2f} (height/width)",
    ),
    "mouth_open": Advice(
        "嘴是张开的",
        "请合上嘴、露出浅浅的微笑；露齿照片的嘴唇要靠推算，效果会差一些。",
        "The mouth is open",
        "Close the lips with a slight smile; lips behind a toothy smile have to be guessed.",
        "{:.2f} (height/width)",
    ),
    "blurred": Advice(
        "人脸模糊",
        "请擦净镜头、对焦在眼睛上、在明亮处拍摄，并发送未压缩的原图。",
        "The face is blurred",
        "Wipe the lens, focus on the eyes, use more light, and send the original file.",
        "{:.3f}",
    ),
    "dark": Advice(
        "人脸太暗",
        "请面向窗户或灯光拍摄，不要背光。",
        "The face is too dark",
        "Face a window or a lamp; do not stand with the light behind you.",
        "{:.0f}/255",
    ),
    "bright": Advice(
        "人脸太亮",
        "请避开直射光和闪光灯，或降低曝光。",
        "The face is too bright",
        "Avoid direct sun and flash, or lower the exposure.",
        "{:.0f}/255",
    ),
    "clipped": Advice(
        "脸上有大片过曝",
        "请用柔和的光线，擦去油光，并降低曝光。",
        "Parts of the face are burnt out",
        "Use soft light, dab shine off the skin, and lower the exposure.",
        "{:.0%}",
    ),
    "one_sided": Advice(
        "光线来自一侧，明暗相差太大",
        "请让光线从正前方来，或在暗的一侧加一块白板。",
        "The light comes from one side",
        "Turn towards the light, or put something white on the dark side.",
        "{:.1f} : 1",
    ),
    "cast": Advice(
        "肤色偏色",
        "请在日光或白光下拍摄，关闭滤镜，并校正白平衡。",
        "The skin has a colour cast",
        "Use daylight or white light, switch filters off and correct the white balance.",
        "{:.0f}",
    ),
    "hidden": Advice(
        "脸的一部分看不清或被遮住",
        "请拿开手、口罩、话筒或墨镜，把头发拨到耳后。",
        "Part of the face cannot be made out",
        "Take away hands, mask, microphone or dark glasses, and put the hair behind the ears.",
        "{:.3f} of the eye distance",
    ),
    "uneven": Advice(
        "脸的左右两半差别很大，可能有遮挡",
        "请检查是否有头发、手或物品挡住一侧，或光线只照到一边。",
        "The halves of the face differ: something may cover one",
        "Check for hair, a hand or an object over one side, or light from one side only.",
        "{:.2f}",
    ),
    "grey": Advice(
        "这是黑白照片",
        "可以使用，但主播也会是黑白的；彩色照片更好。",
        "The picture is black and white",
        "It works, but so will the host look; a colour photograph is better.",
        "{:.0f}",
    ),
}
