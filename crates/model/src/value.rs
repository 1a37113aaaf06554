//! Values: what one sample holds, borrowed ([`Value`]) and packed for batches ([`Cell`]).

/// What a sample holds. The kind is kept per sample: OpenTSDB prints `1` and `1.0` differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// IEEE 754 binary64, kept bit for bit (NaN payloads, -0.0).
    Float = 0,
    /// Signed 64-bit integer.
    Integer = 1,
    /// Unsigned 64-bit integer.
    Unsigned = 2,
    /// True or false.
    Boolean = 3,
    /// UTF-8 text.
    String = 4,
    /// A histogram as bytes whose first one says whose they are: those of a [`crate::Histogram`],
    /// or of a form that only its door knows.
    Histogram = 5,
}

impl Kind {
    /// The kind numbered `code` in files, or nothing if no kind has that number.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Float),
            1 => Some(Self::Integer),
            2 => Some(Self::Unsigned),
            3 => Some(Self::Boolean),
            4 => Some(Self::String),
            5 => Some(Self::Histogram),
            _ => None,
        }
    }

    /// Whether values of this kind are bytes outside the cell.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::String | Self::Histogram)
    }
}

/// The scale of a float cell whose bits are the IEEE pattern rather than a decimal mantissa.
pub const RAW_SCALE: u8 = 255;

/// The largest decimal scale: 10^22 is the largest power of ten that binary64 holds exactly, so
/// `mantissa / 10^scale` with one division is the correctly rounded value of the decimal text
/// (W. D. Clinger, "How to Read Floating Point Numbers Accurately", 1990, the fast path).
pub const SCALE_MAX: u8 = 22;

const MANTISSA_MAX: u64 = 1 << 53;

/// Powers of ten that binary64 holds exactly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The bits of a float that means "no value", as a filled gap yields it: a quiet NaN whose payload
/// spells `foliot`. Encoders print it as null (or as nothing) where any other NaN is printed as
/// NaN; arithmetic treats it as NaN. It is compared by its bits and never survives arithmetic.
pub const NULL_FLOAT_BITS: u64 = 0x7ff8_666f_6c69_6f74;

/// Whether a float is the one that means "no value", see [`NULL_FLOAT_BITS`].
pub const fn is_null_float(value: f64) -> bool {
    value.to_bits() == NULL_FLOAT_BITS
}

/// One value as a batch carries it: sixteen bytes, nothing owned.
///
/// A float that was written as a decimal keeps its mantissa and scale, so that text becomes a
/// compressed block without a detour through binary64 and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Mantissa, integer, boolean (0 or 1), IEEE bits, or a span (offset in the high half, length
    /// in the low half) for kinds whose value is bytes.
    pub bits: u64,
    /// What the bits mean.
    pub kind: Kind,
    /// For floats: number of decimal digits after the point, or [`RAW_SCALE`]. Else 0.
    pub scale: u8,
}

impl Cell {
    /// The float `mantissa / 10^scale`, exactly as its decimal text said; nothing when binary64
    /// could not hold mantissa or power exactly (then parse the text and use [`Cell::float`]).
    pub const fn decimal(mantissa: i64, scale: u8) -> Option<Self> {
        if scale > SCALE_MAX || mantissa.unsigned_abs() > MANTISSA_MAX {
            return None;
        }
        Some(Self { bits: mantissa as u64, kind: Kind::Float, scale })
    }

    /// A float kept as its IEEE bits.
    pub const fn float(value: f64) -> Self {
        Self { bits: value.to_bits(), kind: Kind::Float, scale: RAW_SCALE }
    }

    /// A signed integer.
    pub const fn integer(value: i64) -> Self {
        Self { bits: value as u64, kind: Kind::Integer, scale: 0 }
    }

    /// An unsigned integer.
    pub const fn unsigned(value: u64) -> Self {
        Self { bits: value, kind: Kind::Unsigned, scale: 0 }
    }

    /// A boolean.
    pub const fn boolean(value: bool) -> Self {
        Self { bits: value as u64, kind: Kind::Boolean, scale: 0 }
    }

    /// A string or histogram whose bytes lie at `span` of the batch.
    pub const fn bytes(kind: Kind, span: crate::Span) -> Self {
        Self { bits: ((span.offset as u64) << 32) | span.length as u64, kind, scale: 0 }
    }

    /// Where the bytes of a string or histogram lie in the batch.
    pub const fn span(self) -> crate::Span {
        crate::Span { offset: (self.bits >> 32) as u32, length: self.bits as u32 }
    }

    /// The value of a float cell.
    pub fn to_f64(self) -> f64 {
        match POWERS_OF_TEN.get(self.scale as usize) {
            Some(power) => self.bits as i64 as f64 / power,
            None => f64::from_bits(self.bits),
        }
    }
}

/// One value, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// See [`Kind::Float`].
    Float(f64),
    /// See [`Kind::Integer`].
    Integer(i64),
    /// See [`Kind::Unsigned`].
    Unsigned(u64),
    /// See [`Kind::Boolean`].
    Boolean(bool),
    /// See [`Kind::String`].
    String(&'a str),
    /// See [`Kind::Histogram`].
    Histogram(&'a [u8]),
}

impl Value<'_> {
    /// The kind of this value.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Float(_) => Kind::Float,
            Self::Integer(_) => Kind::Integer,
            Self::Unsigned(_) => Kind::Unsigned,
            Self::Boolean(_) => Kind::Boolean,
            Self::String(_) => Kind::String,
            Self::Histogram(_) => Kind::Histogram,
        }
    }

    /// The value as a number (booleans count as 0 and 1); nothing for text and histograms.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Float(value) => Some(value),
            Self::Integer(value) => Some(value as f64),
            Self::Unsigned(value) => Some(value as f64),
            Self::Boolean(value) => Some(f64::from(u8::from(value))),
            Self::String(_) | Self::Histogram(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_equal_what_the_text_parses_to() {
        for text in ["0.1", "4.2", "123.456", "-99.99", "0.0000001", "9007199254740992", "1.5"] {
            let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            let mantissa: i64 = text.replace('.', "").parse().unwrap();
            let cell = Cell::decimal(mantissa, scale as u8).unwrap();
            let expected: f64 = text.parse().unwrap();
            assert_eq!(cell.to_f64().to_bits(), expected.to_bits(), "{text}");
        }
        assert_eq!(Cell::decimal(9_007_199_254_740_993, 0), None);
        assert_eq!(Cell::decimal(1, 23), None);
    }

    #[test]
    fn no_value_is_a_nan_of_its_own() {
        let null = f64::from_bits(NULL_FLOAT_BITS);
        assert!(null.is_nan() && is_null_float(null));
        assert!(!is_null_float(f64::NAN) && !is_null_float(-null));
    }

    #[test]
    fn raw_floats_keep_their_bits() {
        for bits in [0x8000_0000_0000_0000, 0x7ff0_0000_0000_0002, 0x7ff8_dead_beef_0001] {
            assert_eq!(Cell::float(f64::from_bits(bits)).to_f64().to_bits(), bits);
        }
    }
}
