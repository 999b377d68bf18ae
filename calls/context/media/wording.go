package media

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%d x %d pixels are more than %d megapixels":                               "%d x %d 像素超过 %d 百万像素",
	"%s %d x %d, sent as %s %d x %d":                                           "%s %d x %d，以 %s %d x %d 发送",
	"a vector image is sent as it is, which few models take":                   "矢量图片原样发送，很少有模型接受",
	"decoding failed: %v":                                                      "解码失败：%v",
	"its content is not an image (PNG, JPEG, GIF, WebP, BMP or SVG)":           "其内容不是图片（PNG、JPEG、GIF、WebP、BMP 或 SVG）",
	"only the first frame of the animation is sent, because the file is large": "文件太大，只发送动画的第一帧",
	"the %s file is damaged: %w":                                               "%s 文件已损坏：%w",
	"the %s file is damaged: it has no pixels":                                 "%s 文件已损坏：没有像素",
})
