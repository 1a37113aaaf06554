//! The universal scalability law (Gunther, "Guerrilla Capacity Planning", 2007): with N cores the
//! throughput is N / (1 + contention (N - 1) + coherency N (N - 1)) times that of one.

/// Numbers of cores that the law is fitted to at least: it has two unknowns, one core is its unit,
/// and a point beyond these must be able to contradict it.
const POINTS_MIN: usize = 4;

/// Contention and coherency of (cores, throughput) by least squares; none without the throughput
/// of one core, or with too few points.
pub(super) fn fit(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let one = points.iter().find(|point| point.0 == 1.0 && point.1 > 0.0)?.1;
    // Linear in both unknowns: N / C - 1 = contention (N - 1) + coherency N (N - 1).
    let more = points.iter().filter(|point| point.0 > 1.0 && point.1 > 0.0);
    let rows: Vec<(f64, f64, f64)> = more
        .map(|(cores, rate)| (cores - 1.0, cores * (cores - 1.0), cores * one / rate - 1.0))
        .collect();
    let sum = |of: fn(&(f64, f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
    let (aa, ab, bb) = (sum(|r| r.0 * r.0), sum(|r| r.0 * r.1), sum(|r| r.1 * r.1));
    let (ay, by) = (sum(|r| r.0 * r.2), sum(|r| r.1 * r.2));
    let determinant = aa * bb - ab * ab;
    let contention = (ay * bb - by * ab) / determinant;
    (determinant.abs() > 1e-9).then(|| (contention, (aa * by - ab * ay) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_the_law_are_found_again() {
        let law = |cores: f64| {
            let slowed = 1.0 + 0.08 * (cores - 1.0) + 0.002 * cores * (cores - 1.0);
            (cores, 5e5 * cores / slowed)
        };
        let points: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 4.0, 8.0].map(law).into();
        let (contention, coherency) = fit(&points).unwrap();
        assert!((contention - 0.08).abs() < 1e-9 && (coherency - 0.002).abs() < 1e-9);
        assert!(fit(&points[..4]).is_some());
        assert_eq!(
            fit(&points[..3]),
            None,
            "two unknowns need more than two points beside one core"
        );
        assert_eq!(fit(&points[1..]), None, "one core is the unit");
    }
}
