//! The canvas: pixels in memory, and PNG.

use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::{MonoTextStyle, iso_8859_1::FONT_6X10};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::Drawable;
use embedded_graphics::primitives::{Line, Primitive, PrimitiveStyle};
use embedded_graphics::text::{Baseline, Text};
use std::convert::Infallible;

/// Width and height of a character, in pixels.
pub(super) const CHARACTER: (i32, i32) = (6, 10);

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color(Rgb888);

impl Color {
    pub(super) const BLACK: Self = Self::new(0x00_00_00);
    pub(super) const WHITE: Self = Self::new(0xff_ff_ff);

    /// The colour of the number `0xRRGGBB`.
    pub(super) const fn new(rgb: u32) -> Self {
        Self(Rgb888::new((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8))
    }

    /// Halfway to another.
    pub(super) fn between(self, other: Self) -> Self {
        let mean = |a: u8, b: u8| a / 2 + b / 2;
        let (a, b) = (self.0, other.0);
        Self(Rgb888::new(mean(a.r(), b.r()), mean(a.g(), b.g()), mean(a.b(), b.b())))
    }
}

/// Pixels, row by row.
#[derive(Debug)]
pub(super) struct Canvas {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32, background: Color) -> Self {
        let Color(color) = background;
        let pixel = [color.r(), color.g(), color.b()];
        Self { width, height, rgb: pixel.repeat(width as usize * height as usize) }
    }

    /// A line one pixel wide.
    pub(super) fn line(&mut self, from: (i32, i32), to: (i32, i32), color: Color) {
        let line = Line::new(Point::new(from.0, from.1), Point::new(to.0, to.1));
        let style = PrimitiveStyle::with_stroke(color.0, 1);
        let Ok(()) = line.into_styled(style).draw(self);
    }

    /// A text whose upper left corner is at `at`. Characters beyond Latin-1 become question marks.
    pub(super) fn text(&mut self, text: &str, at: (i32, i32), color: Color) {
        let style = MonoTextStyle::new(&FONT_6X10, color.0);
        let text = Text::with_baseline(text, Point::new(at.0, at.1), style, Baseline::Top);
        let Ok(_) = text.draw(self);
    }

    pub(super) fn write_png(&self, out: &mut Vec<u8>) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.rgb)?;
        writer.finish()
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(at, color) in pixels {
            let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y)) else { continue };
            if x >= self.width {
                continue;
            }
            let start = (y as usize * self.width as usize + x as usize) * 3;
            if let Some(pixel) = self.rgb.get_mut(start..start + 3) {
                pixel.copy_from_slice(&[color.r(), color.g(), color.b()]);
            }
        }
        Ok(())
    }
}
