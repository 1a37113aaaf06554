//! What patterns of a process may take together; a process of its own, which holds no others.

#![allow(clippy::unwrap_used, reason = "what fails here is a failing test")]

use foliot_model::Pattern;

#[test]
fn what_is_too_large_alone_or_together_is_refused_and_given_back() {
    let reason = |expression: &str| Pattern::new(expression).unwrap_err().0;
    assert!(reason(r"\pL{1000}").contains("size limit"));
    let mut held = Vec::new();
    let refused = (0..1000).find_map(|number| {
        let pattern = Pattern::new(&format!(r"\pL{{10}}{number}"));
        pattern.map(|pattern| held.push(pattern)).err()
    });
    assert!(refused.unwrap().0.contains("in use"));
    assert!((10..100).contains(&held.len()), "{}", held.len());
    drop(held);
    // Most are small.
    let held: Vec<Pattern> =
        (0..1000).map(|number| Pattern::new(&format!("^web[0-9]+.{number}$")).unwrap()).collect();
    assert!(held.iter().all(|pattern| !pattern.is_match("db1")));
}
