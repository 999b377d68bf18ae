package media

import (
	"image"
	"image/draw"

	scale "golang.org/x/image/draw"
)

// shrinkToEdge scales the image down to a longer edge of at most edge. It halves with a box
// filter as long as the result stays large enough, then interpolates: the
// interpolation alone would skip pixels beyond a factor of two.
func shrinkToEdge(img image.Image, edge int) *image.RGBA {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	for max(w, h)/2 >= edge && min(w, h) > 1 {
		img = halveSize(img)
		w, h = img.Bounds().Dx(), img.Bounds().Dy()
	}
	if max(w, h) > edge {
		w, h = fitEdge(w, h, edge)
		out := image.NewRGBA(image.Rect(0, 0, w, h))
		scale.ApproxBiLinear.Scale(out, out.Bounds(), img, img.Bounds(), scale.Src, nil)
		return out
	}
	if rgba, ok := img.(*image.RGBA); ok && rgba.Rect.Min == (image.Point{}) {
		return rgba
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Src)
	return out
}

// fitEdge returns a size with the same proportions and a longer edge of edge.
func fitEdge(w, h, edge int) (int, int) {
	if w >= h {
		return edge, max(1, (h*edge+w/2)/w)
	}
	return max(1, (w*edge+h/2)/h), edge
}

// halveSize averages squares of two by two pixels; an odd last row or column is left
// out. Two rows at a time are converted, so that the whole image is never held
// twice at full size.
func halveSize(img image.Image) *image.RGBA {
	b := img.Bounds()
	w, h := b.Dx()/2, b.Dy()/2
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	rows := image.NewRGBA(image.Rect(0, 0, 2*w, 2))
	for y := range h {
		draw.Draw(rows, rows.Rect, img, image.Pt(b.Min.X, b.Min.Y+2*y), draw.Src)
		upper, lower := rows.Pix[:8*w], rows.Pix[rows.Stride:rows.Stride+8*w]
		to := out.Pix[y*out.Stride : y*out.Stride+4*w]
		for x := 0; x < len(to); x += 4 {
			for c := range 4 {
				i := 2*x + c
				to[x+c] = uint8((int(upper[i]) + int(upper[i+4]) + int(lower[i]) + int(lower[i+4]) + 2) / 4)
			}
		}
	}
	return out
}
