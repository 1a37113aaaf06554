//! CRC-32 (ISO-HDLC, the polynomial of gzip and PNG) over stored bytes.
//!
//! Under `cfg(fuzzing)` all checksums are 0: a fuzzer's changed bytes are to reach the readers
//! behind them.

/// The checksum of `bytes`.
pub fn checksum(bytes: &[u8]) -> u32 {
    checksum_append(0, bytes)
}

/// The checksum of earlier bytes, whose checksum is `sum`, followed by `bytes`.
pub fn checksum_append(sum: u32, bytes: &[u8]) -> u32 {
    if cfg!(fuzzing) {
        return 0;
    }
    let mut hasher = crc32fast::Hasher::new_with_initial(sum);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_check_value() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
        assert_eq!(checksum(b""), 0);
        for split in 0..9 {
            let (head, tail) = b"123456789".split_at(split);
            assert_eq!(checksum_append(checksum(head), tail), 0xCBF4_3926);
        }
    }
}
