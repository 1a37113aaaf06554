//! Whether counting began anew between two histograms of a series.

use super::total::zero_within;
use foliot_model::{Bucket, Histogram, Resets};
use std::borrow::Cow;

/// What a histogram that is read says of how it follows the one that was read before it.
/// `tells_resets` says whether a reset that was found is told, or left to who asks: what lies
/// between the two may have been left out.
pub(crate) fn follows(of: &Histogram, before: Option<&Histogram>, tells_resets: bool) -> Resets {
    let before = before.filter(|before| before.resets != Resets::Gauge);
    match (of.resets, before) {
        (Resets::Gauge | Resets::Reset, _) => of.resets,
        (_, None) => Resets::Unknown,
        (_, Some(before)) => {
            let unknown = Histogram { resets: Resets::Unknown, ..Histogram::default() };
            let is_like = of.schema == before.schema && of.zero_threshold == before.zero_threshold;
            let resets = began_anew_whatever_it_says(of, before);
            match (resets, tells_resets) {
                (true, true) => Resets::Reset,
                (true, false) => unknown.resets,
                (false, _) if is_like => Resets::NotReset,
                (false, _) => Resets::Unknown,
            }
        }
    }
}

/// Whether counting began anew before `of`.
pub(crate) fn began_anew(of: &Histogram, before: &Histogram) -> bool {
    match of.resets {
        Resets::Reset => true,
        Resets::NotReset => false,
        Resets::Unknown | Resets::Gauge => began_anew_whatever_it_says(of, before),
    }
}

fn began_anew_whatever_it_says(of: &Histogram, before: &Histogram) -> bool {
    if of.count < before.count {
        return true;
    }
    if of.is_custom() {
        return match before.is_custom() {
            true if of.bounds == before.bounds => is_less(&of.positive, &before.positive),
            true => is_less_where_bounds_meet(of, before),
            false => true,
        };
    }
    if before.is_custom() || of.schema > before.schema || of.zero_threshold < before.zero_threshold
    {
        return true;
    }
    let (zero_count, threshold) = zero_within(before, of.zero_threshold);
    if threshold != of.zero_threshold || of.zero_count < zero_count {
        return true;
    }
    let mut before = Cow::Borrowed(before);
    if before.schema != of.schema {
        before.to_mut().reduce(of.schema);
    }
    [(&of.positive, &before.positive), (&of.negative, &before.negative)].into_iter().any(
        |(own, before)| {
            let within = |bucket: &&Bucket| {
                of.zero_threshold > 0.0 && of.upper(bucket.index) <= of.zero_threshold
            };
            let outside = |buckets: &[Bucket]| buckets.iter().take_while(within).count();
            let own = own.get(outside(own)..).unwrap_or_default();
            is_less(own, before.get(outside(before)..).unwrap_or_default())
        },
    )
}

/// Whether some bucket counts less than before.
fn is_less(own: &[Bucket], before: &[Bucket]) -> bool {
    let mut own = own.iter().peekable();
    before.iter().any(|before| {
        while own.next_if(|own| own.index < before.index).is_some() {}
        match own.peek() {
            Some(own) if own.index == before.index => own.count < before.count,
            _ => before.count != 0.0,
        }
    })
}

/// Whether less is counted between bounds that both have than before.
fn is_less_where_bounds_meet(of: &Histogram, before: &Histogram) -> bool {
    let common = of.bounds.iter().filter(|bound| before.bounds.contains(bound)).copied();
    let ends = common.chain([f64::INFINITY]);
    let mut sides = [of, before].map(|of| of.positive.iter().peekable());
    ends.into_iter().any(|end| {
        let [own, before] = [of, before]
            .into_iter()
            .zip(&mut sides)
            .map(|(of, buckets)| {
                let up_to =
                    std::iter::from_fn(|| buckets.next_if(|bucket| of.upper(bucket.index) <= end));
                up_to.map(|bucket| bucket.count).sum::<f64>()
            })
            .collect::<Vec<_>>()[..]
        else {
            return false;
        };
        own < before
    })
}
