//! Rates: `TestRateSpan`.

use super::*;

/// `TestRateSpan`, and of `TestTsdbQueryQueries` what counts.
#[test]
fn rates() {
    let tsd = Tsd::start();
    let cases: &[Case<'_>] = &[
        (
            "testNext_iterateAll",
            &[
                (0, "40.0"),
                (2000, "50"),
                (3600, "40"),
                (3605, "50.0"),
                (7200, "40"),
                (9200, "50.0"),
            ],
            "sum:rate",
            &[
                (2000, 10.0 / 2000.0),
                (3600, -10.0 / 1600.0),
                (3605, 2.0),
                (7200, -10.0 / 3595.0),
                (9200, 10.0 / 2000.0),
            ],
        ),
        (
            "testNext_counter",
            &[
                (0, "40.0"),
                (2000, "50"),
                (3600, "40"),
                (3605, "50.0"),
                (7200, "40"),
                (9200, "50.0"),
            ],
            "sum:rate{counter,70}",
            &[
                (2000, 10.0 / 2000.0),
                (3600, 60.0 / 1600.0),
                (3605, 2.0),
                (7200, 60.0 / 3595.0),
                (9200, 10.0 / 2000.0),
            ],
        ),
        (
            "testCalculateDelta_bigLongValues",
            &[(0, "9223372036854775707"), (100, "9223372036854775787")],
            "sum:rate",
            &[(100, 0.8)],
        ),
        (
            "testNext_counterLongMax",
            &[(30, "9223372036854775752"), (60, "9223372036854775782"), (90, "5")],
            "sum:rate{counter,9223372036854775807,0}",
            &[(60, 1.0), (90, 1.0)],
        ),
        (
            "testNext_counterWithResetValue",
            &[(0, "40"), (1, "50"), (2, "40")],
            "sum:rate{counter,70,1}",
            &[(1, 10.0), (2, 0.0)],
        ),
        (
            "testNext_counterDroResets",
            &[(0, "40"), (1, "50"), (2, "40"), (3, "50")],
            "sum:rate{dropcounter,70,1}",
            &[(1, 10.0), (3, 10.0)],
        ),
        (
            "testNext_counterDroResetsNothingAfter",
            &[(0, "40"), (1, "50"), (2, "40")],
            "sum:rate{dropcounter,70,1}",
            &[(1, 10.0)],
        ),
        ("testNext_noMoreData", &[(0, "40")], "sum:rate", &[]),
        (
            "runRateCounterDefaultNoOp",
            &[(30, "30"), (60, "60"), (90, "90")],
            "sum:rate{counter}",
            &[(60, 1.0), (90, 1.0)],
        ),
        (
            "runRateCounterMaxSet",
            &[(30, "45"), (60, "75"), (90, "5")],
            "sum:rate{counter,100}",
            &[(60, 1.0), (90, 1.0)],
        ),
        (
            "runRateCounterAnomally",
            &[(30, "45"), (60, "75"), (90, "25")],
            "sum:rate{counter,10000,35}",
            &[(60, 1.0), (90, 0.0)],
        ),
        (
            "runRateCounterAnomallyDrop",
            &[(30, "45"), (60, "75"), (90, "25"), (120, "55")],
            "sum:rate{dropcounter,10000,35}",
            &[(60, 1.0), (120, 1.0)],
        ),
    ];
    run_cases(&tsd, cases, &[], 0);
}
