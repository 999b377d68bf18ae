package media

import (
	"bytes"
	"encoding/binary"
	"image"
)

// readOrientation returns the EXIF orientation of a JPEG, 1 to 8; 1, as it lies, for
// everything else. Cameras store photos as the sensor lies and note how to turn
// them; re-encoding drops the note, so the pixels must be turned.
func readOrientation(mime string, data []byte) int {
	if mime != "image/jpeg" {
		return 1
	}
	const marker, app1, startOfScan = 0xff, 0xe1, 0xda
	for at := 2; at+4 <= len(data) && data[at] == marker && data[at+1] != startOfScan; {
		size := int(binary.BigEndian.Uint16(data[at+2:]))
		if size < 2 || at+2+size > len(data) {
			break
		}
		segment := data[at+4 : at+2+size]
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && data[at+1] == app1 {
			return exifOrientation(tiff)
		}
		at += 2 + size
	}
	return 1
}

// exifOrientation reads tag 0x0112 of the first directory of a TIFF structure.
func exifOrientation(tiff []byte) int {
	const tag, short, header, entry = 0x0112, 3, 8, 12
	if len(tiff) < header {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	n := int64(order.Uint16(tiff[at:]))
	for i := range n {
		e := at + 2 + i*entry
		if e+entry > int64(len(tiff)) {
			break
		}
		if order.Uint16(tiff[e:]) == tag && order.Uint16(tiff[e+2:]) == short {
			if o := int(order.Uint16(tiff[e+8:])); o >= 1 && o <= 8 {
				return o
			}
		}
	}
	return 1
}

// applyOrientation turns and mirrors the image by its EXIF orientation.
func applyOrientation(img *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	// from returns the source of a pixel of the turned image.
	var from func(x, y int) (int, int)
	switch orientation {
	case 2:
		from = func(x, y int) (int, int) { return w - 1 - x, y }
	case 3:
		from = func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 4:
		from = func(x, y int) (int, int) { return x, h - 1 - y }
	case 5:
		from = func(x, y int) (int, int) { return y, x }
	case 6:
		from = func(x, y int) (int, int) { return y, h - 1 - x }
	case 7:
		from = func(x, y int) (int, int) { return w - 1 - y, h - 1 - x }
	default:
		from = func(x, y int) (int, int) { return w - 1 - y, x }
	}
	outW, outH := w, h
	if orientation >= 5 {
		outW, outH = h, w
	}
	out := image.NewRGBA(image.Rect(0, 0, outW, outH))
	for y := range outH {
		for x := range outW {
			sx, sy := from(x, y)
			copy(out.Pix[out.PixOffset(x, y):][:4], img.Pix[img.PixOffset(sx, sy):][:4])
		}
	}
	return out
}
