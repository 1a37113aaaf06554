use super::*;
use proptest::prelude::*;

fn sum(values: &[f64]) -> f64 {
    let mut sum = Sum::default();
    sum.push(values);
    sum.total()
}

/// The nearest float to a number of billionths, as the standard library reads it.
fn read(billionths: i128) -> f64 {
    let (sign, size) = (if billionths < 0 { "-" } else { "" }, billionths.unsigned_abs());
    format!("{sign}{}.{:09}", size / 1_000_000_000, size % 1_000_000_000).parse().unwrap()
}

/// Decimals, by their billionths.
fn decimal() -> impl Strategy<Value = i128> {
    (-(1i64 << 50) + 2..(1 << 50) - 1, 0usize..10, 0u32..50)
        .prop_map(|(whole, scale, less)| i128::from(whole >> less) * UNITS[scale].1)
}

/// Floats of which none is a decimal, as multiples of 2^-60.
fn other() -> impl Strategy<Value = i128> {
    (1i64 << 52..1 << 53, 0u32..64, any::<bool>()).prop_map(|(digits, shift, negative)| {
        let size = i128::from(digits | 1) << shift;
        if negative { -size } else { size }
    })
}

proptest! {
    /// Held against whole numbers, and the standard library's reading of decimals.
    #[test]
    fn decimals_add_up_as_decimals(values in prop::collection::vec(decimal(), 1..600)) {
        let floats: Vec<f64> = values.iter().map(|value| read(*value)).collect();
        let expected = read(values.iter().sum());
        prop_assert_eq!(sum(&floats).to_bits(), (expected + 0.0).to_bits());
    }

    /// Held against whole numbers of a common unit, which the compiler rounds.
    #[test]
    fn other_floats_add_up_without_error(values in prop::collection::vec(other(), 1..100)) {
        let unit = 2f64.powi(-60);
        let floats: Vec<f64> = values.iter().map(|value| *value as f64 * unit).collect();
        prop_assume!(floats.iter().all(|value| decimals(&[*value]).is_none()));
        let expected = values.iter().sum::<i128>() as f64 * unit;
        prop_assert_eq!(sum(&floats).to_bits(), expected.to_bits());
    }

    #[test]
    fn neither_order_nor_cuts_matter(
        values in prop::collection::vec(
            prop_oneof![
                4 => decimal().prop_map(read),
                4 => any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite()),
                1 => Just(1e300),
                1 => Just(-1e300),
                1 => Just(1e-300),
            ],
            1..300,
        ),
        seed in any::<u64>(),
        cut in 0usize..300,
    ) {
        let expected = sum(&values).to_bits();
        let mut shuffled = values.clone();
        shuffled.sort_by_key(|value| value.to_bits().wrapping_mul(seed | 1));
        prop_assert_eq!(sum(&shuffled).to_bits(), expected);
        let (first, second) = shuffled.split_at(cut.min(values.len()));
        let (mut joined, mut one_by_one) = (Sum::default(), Sum::default());
        joined.push(second);
        let mut other = Sum::default();
        other.push(first);
        joined.absorb(&other);
        prop_assert_eq!(joined.total().to_bits(), expected);
        shuffled.iter().for_each(|value| one_by_one.add(*value));
        prop_assert_eq!(one_by_one.total().to_bits(), expected);
    }

    /// A block's summary says the same as its values, whatever scale the block was written with.
    #[test]
    fn summaries_say_what_values_say(
        wholes in prop::collection::vec(-(1i64 << 50) + 2..(1 << 50) - 1, 1..200),
        scale in 0u8..10,
        less in 0u32..50,
    ) {
        let wholes: Vec<i64> = wholes.iter().map(|whole| whole >> less).collect();
        let power = 10f64.powi(i32::from(scale));
        let floats: Vec<f64> = wholes.iter().map(|whole| *whole as f64 / power).collect();
        let most = wholes.iter().map(|whole| whole.unsigned_abs()).max().unwrap();
        let decimals = DecimalSum { sum: wholes.iter().sum(), scale, most };
        prop_assert!(Sum::takes(&decimals));
        let mut by_summary = Sum::default();
        by_summary.add_decimals(&decimals);
        prop_assert_eq!(by_summary.total().to_bits(), sum(&floats).to_bits());
    }
}

#[test]
fn sums_that_lose_digits_elsewhere() {
    let case = |values: &[f64], expected: f64| {
        assert_eq!(sum(values).to_bits(), expected.to_bits(), "{values:?}");
    };
    case(&[], 0.0);
    case(&[-0.0], 0.0);
    case(&[0.1, 0.2], 0.3);
    case(&[0.1; 10], 1.0);
    case(&[1e100, 1.0, -1e100], 1.0);
    case(&[1e16, 1.0, -1e16], 1.0);
    case(&[1e16, 1e-16, 1.0], 1e16);
    case(&[f64::MAX, f64::MAX, -f64::MAX], f64::MAX);
    case(&[f64::MAX, f64::MAX], f64::INFINITY);
    case(&[5e-324, 5e-324], 1e-323);
    case(&[1.0 / 3.0, 1e300, -1e300], 1.0 / 3.0);
    case(&[f64::INFINITY, 1.0], f64::INFINITY);
    case(&[f64::NEG_INFINITY, 1e300], f64::NEG_INFINITY);
    assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    assert!(sum(&[f64::NAN, 2.5]).is_nan());
    case(&[0.123_456_789_012_345_6], 0.123_456_789_012_345_6);
}
