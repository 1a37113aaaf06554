//! Data points, as they stand in their messages.

use super::attributes::Attributes;
use super::{exemplar, inside};
use crate::wire::{Field, Fields, Value, unzigzag};
use crate::write::Malformed;
use foliot_model::{Bucket, Fault, Histogram, Resets};

/// What kind of points a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Gauge,
    Sum,
    Histogram,
    Exponential,
    Summary,
}

/// How far a native histogram's bucket around zero reaches when a point does not say: what
/// Prometheus takes then.
const ZERO_THRESHOLD: f64 = 1e-128;

/// The flag that says that there is no value.
const NO_VALUE: u64 = 1;

/// Numbers of the fields that all kinds of points have under different ones.
struct Numbers {
    attributes: u64,
    flags: u64,
    exemplars: u64,
}

impl Shape {
    /// The one whose points the field of a metric holds.
    pub(super) fn of_field(number: u64) -> Option<Self> {
        match number {
            5 => Some(Self::Gauge),
            7 => Some(Self::Sum),
            9 => Some(Self::Histogram),
            10 => Some(Self::Exponential),
            11 => Some(Self::Summary),
            _ => None,
        }
    }

    /// The label that its own series are told apart by.
    pub(super) fn own_label(self) -> &'static str {
        match self {
            Self::Histogram => "le",
            Self::Summary => "quantile",
            _ => "",
        }
    }

    const fn numbers(self) -> Numbers {
        match self {
            Self::Gauge | Self::Sum => Numbers { attributes: 7, flags: 8, exemplars: 5 },
            Self::Histogram => Numbers { attributes: 9, flags: 10, exemplars: 8 },
            Self::Exponential => Numbers { attributes: 1, flags: 10, exemplars: 11 },
            Self::Summary => Numbers { attributes: 7, flags: 8, exemplars: u64::MAX },
        }
    }
}

/// A data point.
#[derive(Debug, Default)]
pub(super) struct Point<'a> {
    pub(super) attributes: Attributes<'a>,
    pub(super) time_ms: i64,
    pub(super) is_stale: bool,
    pub(super) exemplars: u64,
    pub(super) value: f64,
    pub(super) count: u64,
    pub(super) sum: Option<f64>,
    /// Bounds of a histogram, or quantiles.
    pub(super) bounds: Vec<f64>,
    /// Counts of a histogram, or bits of the values of quantiles.
    pub(super) list: Vec<u64>,
    /// Whether it has more of those than are taken.
    pub(super) is_over: bool,
    scale: i32,
    zero_count: u64,
    zero_threshold: f64,
    positive: Buckets,
    negative: Buckets,
}

/// Buckets of one side of zero, from an index on.
#[derive(Debug, Default)]
struct Buckets {
    offset: i32,
    counts: Vec<u64>,
}

impl<'a> Point<'a> {
    pub(super) fn read(bytes: &'a [u8], field: &Field, shape: Shape) -> Result<Self, Malformed> {
        let numbers = shape.numbers();
        let mut point = Self::default();
        let mut fields = inside(bytes, field)?;
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (number, _) if number == numbers.attributes => {
                    point.attributes.read(bytes, &field)?;
                }
                (number, _) if number == numbers.exemplars => {
                    exemplar::check(bytes, &field)?;
                    point.exemplars += 1;
                }
                (number, Value::Varint(flags)) if number == numbers.flags => {
                    point.is_stale = flags & NO_VALUE != 0;
                }
                (3, Value::Fixed64(time_ns)) => point.time_ms = (time_ns / 1_000_000) as i64,
                _ => match shape {
                    Shape::Gauge | Shape::Sum => point.read_number(&field),
                    Shape::Histogram => point.read_histogram(bytes, &field)?,
                    Shape::Exponential => point.read_exponential(bytes, &field)?,
                    Shape::Summary => point.read_summary(bytes, &field)?,
                },
            }
        }
        Ok(point)
    }

    fn read_number(&mut self, field: &Field) {
        match (field.number, field.value) {
            (4, Value::Fixed64(bits)) => self.value = f64::from_bits(bits),
            (6, Value::Fixed64(bits)) => self.value = bits as i64 as f64,
            _ => {}
        }
    }

    fn read_count_or_sum(&mut self, field: &Field) {
        match (field.number, field.value) {
            (4, Value::Fixed64(count)) => self.count = count,
            (5, Value::Fixed64(bits)) => self.sum = Some(f64::from_bits(bits)),
            _ => {}
        }
    }

    fn read_histogram(&mut self, bytes: &[u8], field: &Field) -> Result<(), Malformed> {
        match field.number {
            6 => self.is_over |= !fixed(bytes, field, |bits| bits, &mut self.list)?,
            7 => self.is_over |= !fixed(bytes, field, f64::from_bits, &mut self.bounds)?,
            _ => self.read_count_or_sum(field),
        }
        Ok(())
    }

    fn read_exponential(&mut self, bytes: &[u8], field: &Field) -> Result<(), Malformed> {
        match (field.number, field.value) {
            (6, Value::Varint(scale)) => self.scale = unzigzag(scale) as i32,
            (7, Value::Fixed64(count)) => self.zero_count = count,
            (14, Value::Fixed64(bits)) => self.zero_threshold = f64::from_bits(bits),
            (8, _) => self.is_over |= !self.positive.read(bytes, field)?,
            (9, _) => self.is_over |= !self.negative.read(bytes, field)?,
            _ => self.read_count_or_sum(field),
        }
        Ok(())
    }

    fn read_summary(&mut self, bytes: &[u8], field: &Field) -> Result<(), Malformed> {
        if field.number != 6 {
            self.read_count_or_sum(field);
            return Ok(());
        }
        let (mut quantile, mut value) = (0.0, 0);
        let mut fields = inside(bytes, field)?;
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (1, Value::Fixed64(bits)) => quantile = f64::from_bits(bits),
                (2, Value::Fixed64(bits)) => value = bits,
                _ => {}
            }
        }
        match self.list.len() < Histogram::BUCKETS_MAX {
            true => {
                self.bounds.push(quantile);
                self.list.push(value);
            }
            false => self.is_over = true,
        }
        Ok(())
    }

    /// Calls `take` with the exemplars of the point that a field holds, as many as `take` wants.
    pub(super) fn exemplars(
        bytes: &'a [u8],
        field: &Field,
        shape: Shape,
        take: &mut dyn FnMut(&Field) -> bool,
    ) -> Result<(), Malformed> {
        let number = shape.numbers().exemplars;
        let mut fields = inside(bytes, field)?;
        while let Some(field) = fields.next()? {
            if field.number == number && !take(&field) {
                break;
            }
        }
        Ok(())
    }

    /// The native histogram that an exponential one is.
    pub(super) fn native(&self) -> Result<Histogram, Fault> {
        let histogram = Histogram {
            resets: Resets::Unknown,
            is_integer: true,
            zero_threshold: match self.zero_threshold > 0.0 {
                true => self.zero_threshold,
                false => ZERO_THRESHOLD,
            },
            zero_count: self.zero_count as f64,
            count: self.count as f64,
            sum: self.sum.unwrap_or_default(),
            positive: self.positive.buckets()?,
            negative: self.negative.buckets()?,
            ..Histogram::default()
        };
        histogram.checked(self.scale)
    }
}

impl Buckets {
    /// Returns whether there are no more than are taken.
    fn read(&mut self, bytes: &[u8], field: &Field) -> Result<bool, Malformed> {
        let mut fields = inside(bytes, field)?;
        let mut push = |count| {
            let has_room = self.counts.len() < Histogram::BUCKETS_MAX;
            self.counts.extend(has_room.then_some(count));
            has_room
        };
        let mut fits = true;
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (1, Value::Varint(offset)) => self.offset = unzigzag(offset) as i32,
                (2, Value::Varint(count)) => fits &= push(count),
                (2, Value::Bytes(start, end)) => {
                    let mut run = Fields::new(bytes, start, end);
                    while run.at() < end {
                        fits &= push(run.varint()?);
                    }
                }
                _ => {}
            }
        }
        Ok(fits)
    }

    /// Here a bucket has the number of its upper bound, there of its lower one.
    fn buckets(&self) -> Result<Vec<Bucket>, Fault> {
        let counts: Vec<f64> = self.counts.iter().map(|count| *count as f64).collect();
        let span = (self.offset.saturating_add(1), counts.len() as u32);
        let mut buckets = Histogram::buckets_of(&[span], &counts)?;
        buckets.retain(|bucket| bucket.count != 0.0);
        Ok(buckets)
    }
}

/// Appends numbers of eight bytes, one by one or packed. Returns whether there are no more than
/// are taken.
fn fixed<T>(
    bytes: &[u8],
    field: &Field,
    of_bits: impl Fn(u64) -> T,
    out: &mut Vec<T>,
) -> Result<bool, Malformed> {
    let room = Histogram::BUCKETS_MAX.saturating_sub(out.len());
    if let Value::Fixed64(bits) = field.value {
        out.extend((room > 0).then(|| of_bits(bits)));
        return Ok(room > 0);
    }
    let (start, end) = field.range()?;
    let (list, rest) = bytes.get(start..end).unwrap_or_default().as_chunks::<8>();
    if !rest.is_empty() {
        return Err(field.mistyped());
    }
    out.extend(list.iter().take(room).map(|bits| of_bits(u64::from_le_bytes(*bits))));
    Ok(list.len() <= room)
}
