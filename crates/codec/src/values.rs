//! Values of a block: brought into one domain of integers, laid out, and what does not fit listed.
//!
//! ```text
//! values  = head u8, [scale u8], body, [others], [exceptions]
//! head    = domain (bits 0..3), layout of the body (bits 3..6), others (bit 6), exceptions (bit 7)
//! ```

use crate::exceptions::{self, Exception};
use crate::ints::{self, IntsScratch, Layout};
use crate::lane::Narrow;
use crate::numbers::{self, Numbers};
use crate::summary::Summary;
use crate::text::{self, Texts};
use crate::{BLOCK_SAMPLES_MAX, CodecError};

/// Codes of value kinds, as every format of the store numbers them.
pub(crate) mod kind {
    pub(crate) const FLOAT: u8 = 0;
    pub(crate) const INTEGER: u8 = 1;
    pub(crate) const UNSIGNED: u8 = 2;
    pub(crate) const BOOLEAN: u8 = 3;
    pub(crate) const STRING: u8 = 4;
    pub(crate) const HISTOGRAM: u8 = 5;
    pub(crate) const COUNT: usize = 6;
}

/// What the integers of a body mean; the numbers are part of the format. Numbers below this one
/// mean values of the kind with the same code, floats as decimals.
pub(crate) const FLOAT_BITS: u8 = 6;

const LAYOUT_SHIFT: u8 = 3;
const OTHERS: u8 = 1 << 6;
const EXCEPTIONS: u8 = 1 << 7;

/// One code for all values, or one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each<'a, T> {
    /// All values share it.
    One(T),
    /// As many as there are values.
    Every(&'a [T]),
}

impl<T: Copy + PartialEq> Each<'_, T> {
    /// The same codes, said shortly if they are all the same.
    fn shorten(self) -> Self {
        match self {
            Self::Every([first, rest @ ..]) if rest.iter().all(|code| code == first) => {
                Self::One(*first)
            }
            _ => self,
        }
    }

    /// The code of the value numbered `index`.
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::One(code) => Some(*code),
            Self::Every(codes) => codes.get(index).copied(),
        }
    }
}

/// The values of a block as they go in: kind, scale and bits of each.
///
/// Kinds are 0 float, 1 integer, 2 unsigned, 3 boolean, 4 string and 5 histogram. A float of a
/// scale up to 22 is `bits as i64 / 10^scale` with a mantissa of at most 2^53 in magnitude; of any
/// other scale (255 by custom) it is an IEEE 754 pattern. A string or histogram is a span of
/// `bytes`: offset in the high half of the bits, length in the low half.
#[derive(Clone, Copy, Debug)]
pub struct BlockValues<'a> {
    /// Kind of each value.
    pub kinds: Each<'a, u8>,
    /// Scale of each value; of no meaning for kinds other than float.
    pub scales: Each<'a, u8>,
    /// Bits of each value.
    pub bits: &'a [u64],
    /// What spans point into.
    pub bytes: &'a [u8],
}

impl<'a> BlockValues<'a> {
    /// The bytes of a span.
    pub(crate) fn slice(&self, span: u64) -> &'a [u8] {
        let slice = slice(self.bytes, span);
        debug_assert!(slice.is_some(), "a span lies within the bytes");
        slice.unwrap_or_default()
    }
}

/// Memory lent to an encoder, to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) numbers: Numbers,
    pub(crate) texts: Texts,
    narrow: Narrow,
    ints: IntsScratch,
    floats: Vec<f64>,
}

impl Scratch {
    /// For blocks whose bytes are packed later ([`crate::Packer`]): they then take fewer bytes, and
    /// more before.
    pub fn for_packing() -> Self {
        Self { ints: IntsScratch::for_packing(), ..Self::default() }
    }
}

/// Appends the values of a block, at most [`BLOCK_SAMPLES_MAX`], and says what it saw of them.
///
/// Floats come back bit for bit, whether they came in as decimals or not; the scale of a decimal
/// does not, as equal numbers are equal.
pub fn encode_values(
    values: &BlockValues<'_>,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Summary {
    debug_assert!(values.bits.len() <= BLOCK_SAMPLES_MAX, "one block, not {}", values.bits.len());
    let values =
        BlockValues { kinds: values.kinds.shorten(), scales: values.scales.shorten(), ..*values };
    if values.bits.is_empty() {
        return Summary::default();
    }
    let Scratch { numbers, texts, narrow, ints, floats } = scratch;
    let main = main_kind(&values);
    let start = out.len();
    out.push(0);
    let (domain, layout) = match main {
        kind::STRING | kind::HISTOGRAM => {
            (main, text::encode(&values, main, texts, &mut numbers.exceptions, ints, out))
        }
        _ => {
            numbers.gather(&values, main);
            if numbers.domain == kind::FLOAT {
                out.push(numbers.scale);
            }
            narrow.fill(&numbers.values);
            (numbers.domain, ints::encode_narrow(&numbers.values, narrow, ints, out))
        }
    };
    let mut head = domain | (layout as u8) << LAYOUT_SHIFT;
    if domain == kind::FLOAT && !numbers.others.is_empty() {
        head |= OTHERS;
        let at = out.len();
        out.push(0);
        let layout = ints::encode(&numbers.others, ints, out);
        out.get_mut(at).into_iter().for_each(|code| *code = layout as u8);
    }
    if !numbers.exceptions.is_empty() {
        head |= EXCEPTIONS;
        exceptions::encode(&values, &numbers.exceptions, out);
    }
    out.get_mut(start).into_iter().for_each(|code| *code = head);
    Summary::of(&values, main, numbers, narrow, floats)
}

/// The values of a block as they come out.
///
/// Memory is reused from call to call. Spans point into `bytes`, offset in the high half and length
/// in the low half, as in [`BlockValues`].
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// The kind all values share, or nothing when they differ.
    pub kind: Option<u8>,
    /// The values if their kind is float (0).
    pub floats: Vec<f64>,
    /// The values if their kind is integer (1).
    pub integers: Vec<i64>,
    /// The values if their kind is unsigned (2).
    pub unsigned: Vec<u64>,
    /// The values if their kind is boolean (3).
    pub booleans: Vec<bool>,
    /// Spans if the kind is string (4) or histogram (5); IEEE bits, integers, 0 or 1, or spans of
    /// the values if their kinds differ; else empty.
    pub bits: Vec<u64>,
    /// What spans point into.
    pub bytes: Vec<u8>,
    /// The kind of each value if they differ; else empty.
    pub kinds: Vec<u8>,
    pub(crate) ints: Vec<i64>,
    pub(crate) others: Vec<i64>,
    pub(crate) exceptions: Vec<Exception>,
}

impl Decoded {
    /// What [`decode_wholes`] left as whole numbers.
    pub fn wholes(&self) -> &[i64] {
        &self.ints
    }

    /// The bytes of a span found in `bits`; empty if it is none.
    pub fn slice(&self, span: u64) -> &[u8] {
        slice(&self.bytes, span).unwrap_or_default()
    }

    fn clear(&mut self) {
        self.kind = None;
        self.floats.clear();
        self.integers.clear();
        self.unsigned.clear();
        self.booleans.clear();
        self.bits.clear();
        self.bytes.clear();
        self.kinds.clear();
        // Each of the integers is written over.
        self.others.clear();
        self.exceptions.clear();
    }
}

/// Takes the values of a block of `count` samples out of `bytes`; what `out` held before is gone.
///
/// # Errors
/// When the bytes are not what [`encode_values`] wrote for so many values. `out` then holds nothing
/// of use. Memory is bounded by the count and the length of the bytes, whatever they say.
pub fn decode_values(bytes: &[u8], count: usize, out: &mut Decoded) -> Result<(), CodecError> {
    let body = decode_body(bytes, count, out)?;
    finish(body, out)
}

/// What the whole numbers of a block mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wholes {
    /// The kind of all values: float (0) or integer (1).
    pub kind: u8,
    /// A float is the whole number divided by ten to this power; 0 for integers.
    pub scale: u8,
}

/// Like [`decode_values`]; but where all values are integers, or floats that are decimals of one
/// scale, they stay as they are stored: `out` then holds nothing but [`Decoded::wholes`], and the
/// result says what these mean.
///
/// # Errors
/// As [`decode_values`].
pub fn decode_wholes(
    bytes: &[u8],
    count: usize,
    out: &mut Decoded,
) -> Result<Option<Wholes>, CodecError> {
    let body = decode_body(bytes, count, out)?;
    let is_plain = out.others.is_empty() && out.exceptions.is_empty();
    match body.domain {
        kind @ (kind::FLOAT | kind::INTEGER) if is_plain => {
            Ok(Some(Wholes { kind, scale: body.scale }))
        }
        _ => finish(body, out).map(|()| None),
    }
}

fn finish(Body { domain, scale, main }: Body, out: &mut Decoded) -> Result<(), CodecError> {
    if out.ints.is_empty() {
        return Ok(());
    }
    let uniform = out.others.is_empty() && out.exceptions.iter().all(|item| item.kind == main);
    match uniform {
        true => finish_uniform(domain, scale, main, out),
        false => finish_mixed(domain, scale, main, out),
    }
}

/// What integers of a body mean.
pub(crate) struct Body {
    pub(crate) domain: u8,
    /// Digits after the point, if the domain is that of decimal floats.
    pub(crate) scale: u8,
    /// The kind of all values that are neither others nor exceptions.
    pub(crate) main: u8,
}

/// Fills integers, others and exceptions, and spans where the domain is text.
pub(crate) fn decode_body(
    mut bytes: &[u8],
    count: usize,
    out: &mut Decoded,
) -> Result<Body, CodecError> {
    out.clear();
    if count > BLOCK_SAMPLES_MAX {
        return Err(CodecError::TooLong { count });
    }
    if count == 0 {
        out.ints.clear();
        return Ok(Body { domain: kind::FLOAT, scale: 0, main: kind::FLOAT });
    }
    let bytes = &mut bytes;
    let head = *bytes.split_off_first().ok_or(CodecError::Truncated("values"))?;
    let domain = head & 7;
    let layout = Layout::from_code(head >> LAYOUT_SHIFT);
    if domain > FLOAT_BITS || (head & OTHERS != 0 && domain != kind::FLOAT) {
        return Err(CodecError::Invalid("domain"));
    }
    let scale = match domain {
        kind::FLOAT => *bytes.split_off_first().ok_or(CodecError::Truncated("scale"))?,
        _ => 0,
    };
    if scale > numbers::SCALE_MAX {
        return Err(CodecError::Invalid("scale"));
    }
    out.ints.resize(count, 0);
    if matches!(domain, kind::STRING | kind::HISTOGRAM) {
        text::decode(layout, bytes, &mut out.ints, &mut out.bits, &mut out.bytes)?;
    } else {
        ints::decode(layout, bytes, &mut out.ints)?;
    }
    if head & OTHERS != 0 {
        let code = *bytes.split_off_first().ok_or(CodecError::Truncated("kinds"))?;
        out.others.resize(count, 0);
        ints::decode(Layout::from_code(code), bytes, &mut out.others)?;
    }
    if head & EXCEPTIONS != 0 {
        exceptions::decode(bytes, count, &mut out.exceptions, &mut out.bytes)?;
    }
    match bytes.is_empty() {
        true => Ok(Body {
            domain,
            scale,
            main: if domain == FLOAT_BITS { kind::FLOAT } else { domain },
        }),
        false => Err(CodecError::Invalid("length of the values")),
    }
}

fn finish_uniform(domain: u8, scale: u8, main: u8, out: &mut Decoded) -> Result<(), CodecError> {
    out.kind = Some(main);
    let ints = out.ints.iter();
    match domain {
        kind::FLOAT => numbers::to_floats(&out.ints, scale, &mut out.floats),
        FLOAT_BITS => out.floats.extend(ints.map(|int| numbers::from_ordered(*int))),
        kind::INTEGER => out.integers.extend(ints),
        kind::UNSIGNED => out.unsigned.extend(ints.map(|int| *int as u64)),
        kind::BOOLEAN => out.booleans.extend(ints.map(|int| *int != 0)),
        _ => {}
    }
    for exception in &out.exceptions {
        let (place, bits) = (usize::from(exception.place), exception.plain_bits());
        match main {
            kind::FLOAT => replace(&mut out.floats, place, f64::from_bits(bits)),
            kind::INTEGER => replace(&mut out.integers, place, bits as i64),
            kind::UNSIGNED => replace(&mut out.unsigned, place, bits),
            kind::BOOLEAN => replace(&mut out.booleans, place, bits != 0),
            _ => replace(&mut out.bits, place, bits),
        }
    }
    Ok(())
}

fn finish_mixed(domain: u8, scale: u8, main: u8, out: &mut Decoded) -> Result<(), CodecError> {
    out.kinds.resize(out.ints.len(), main);
    let ints = out.ints.iter();
    match domain {
        kind::FLOAT => {
            numbers::to_floats(&out.ints, scale, &mut out.floats);
            out.bits.extend(out.floats.drain(..).map(f64::to_bits));
            for (place, _) in out.others.iter().enumerate().filter(|(_, other)| **other != 0) {
                let decimal = out.ints.get(place).copied().unwrap_or_default();
                replace(&mut out.bits, place, numbers::whole(decimal, scale)? as u64);
                replace(&mut out.kinds, place, kind::INTEGER);
            }
        }
        FLOAT_BITS => out.bits.extend(ints.map(|int| numbers::from_ordered(*int).to_bits())),
        kind::BOOLEAN => out.bits.extend(ints.map(|int| u64::from(*int != 0))),
        kind::INTEGER | kind::UNSIGNED => out.bits.extend(ints.map(|int| *int as u64)),
        _ => {}
    }
    for exception in &out.exceptions {
        replace(&mut out.kinds, usize::from(exception.place), exception.kind);
        replace(&mut out.bits, usize::from(exception.place), exception.plain_bits());
    }
    Ok(())
}

fn replace<T: Copy>(values: &mut [T], place: usize, value: T) {
    values.get_mut(place).into_iter().for_each(|slot| *slot = value);
}

/// The kind of most values.
fn main_kind(values: &BlockValues<'_>) -> u8 {
    let kinds = match values.kinds {
        Each::One(kind) => return kind,
        Each::Every(kinds) => kinds,
    };
    let mut counts = [0usize; kind::COUNT];
    for &kind in kinds {
        counts.get_mut(usize::from(kind)).into_iter().for_each(|count| *count += 1);
    }
    let most = counts.iter().zip(0u8..).max_by_key(|(count, _)| **count);
    most.map_or(kind::FLOAT, |(_, kind)| kind)
}

fn slice(bytes: &[u8], span: u64) -> Option<&[u8]> {
    let (offset, length) = ((span >> 32) as usize, span as u32 as usize);
    bytes.get(offset..)?.get(..length)
}
