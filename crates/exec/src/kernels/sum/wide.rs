//! A number as wide as all floats together, so that adding floats to it loses nothing (R. M. Neal,
//! "Fast Exact Summation Using Small and Large Superaccumulators", 2015).

/// Bits of a limb.
const LIMB_BITS: usize = 64;

/// Limbs that the bits of all floats lie in: 2046 places for 53 bits.
const LIMBS: usize = 33;

/// The power of two that the lowest bit stands for.
const LOWEST: i32 = -1074;

/// The sum of any finite floats, and of infinite ones beside it. Limbs overlap: each has room for
/// 2^63 carries.
#[derive(Clone, Debug)]
pub(super) struct Wide {
    limbs: [i128; LIMBS],
    infinite: f64,
}

impl Default for Wide {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], infinite: 0.0 }
    }
}

impl Wide {
    pub(super) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.infinite += value;
            return;
        }
        let bits = value.to_bits();
        let (exponent, fraction) = (((bits >> 52) & 0x7ff) as usize, bits & ((1 << 52) - 1));
        let digits = if exponent == 0 { fraction } else { fraction | (1 << 52) };
        let place = exponent.saturating_sub(1);
        let shifted = u128::from(digits) << (place % LIMB_BITS);
        let halves = [i128::from(shifted as u64), (shifted >> LIMB_BITS) as i128];
        let limbs = self.limbs.iter_mut().skip(place / LIMB_BITS);
        limbs.zip(halves).for_each(|(limb, half)| {
            *limb += if value < 0.0 { -half } else { half };
        });
    }

    pub(super) fn absorb(&mut self, other: &Self) {
        self.limbs.iter_mut().zip(&other.limbs).for_each(|(limb, other)| *limb += other);
        self.infinite += other.infinite;
    }

    /// The nearest float.
    pub(super) fn total(&self) -> f64 {
        if self.infinite != 0.0 {
            return self.infinite;
        }
        let (digits, is_negative) = self.digits(1);
        if !is_negative {
            return nearest(&digits);
        }
        -nearest(&self.digits(-1).0)
    }

    /// The number times `sign` in plain digits, and whether it is negative.
    fn digits(&self, sign: i128) -> (Vec<u64>, bool) {
        let mut carry = 0i128;
        let mut digits: Vec<u64> = Vec::with_capacity(LIMBS + 2);
        for limb in &self.limbs {
            let sum = limb * sign + carry;
            digits.push(sum as u64);
            carry = sum >> LIMB_BITS;
        }
        digits.extend([carry as u64, (carry >> LIMB_BITS) as u64]);
        (digits, carry < 0)
    }
}

/// The nearest float to a number of plain digits.
fn nearest(digits: &[u64]) -> f64 {
    let top = digits.iter().rposition(|digit| *digit != 0).unwrap_or(0).max(1);
    let digit = |at: usize| u128::from(digits.get(at).copied().unwrap_or(0));
    // More bits than a float has, and a last one that stands for all behind it.
    let behind = digits.iter().take(top - 1).any(|digit| *digit != 0);
    let leading = (digit(top) << LIMB_BITS) | digit(top - 1) | u128::from(behind);
    let power = LOWEST + ((top - 1) * LIMB_BITS) as i32;
    // In two steps: the power alone may be no float.
    leading as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
}
