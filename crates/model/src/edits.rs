//! How far two names are from each other, for whoever wrote one of them wrong.

/// Number of single-letter edits between two names (V. I. Levenshtein, 1965).
pub fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (&to, &above) in b.iter().zip(row.iter().skip(1)) {
            let swap = diagonal + usize::from(from != to);
            left = swap.min(above + 1).min(left + 1);
            next.push(left);
            diagonal = above;
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("limits.seris", "limits.series"), 1);
        assert_eq!(edits("same", "same"), 0);
    }
}
