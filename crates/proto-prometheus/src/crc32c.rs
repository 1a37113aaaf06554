//! CRC-32C, the checksum of all of Prometheus' files and of the frames of remote read.

/// Of each byte, what the polynomial of Castagnoli leaves of it.
const CASTAGNOLI: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0x82f6_3b78 } else { rest >> 1 };
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "it has as many entries as there are bytes")]
        {
            table[byte] = rest;
        }
        byte += 1;
    }
    table
};

/// The checksum of `bytes` (RFC 3720, 12.1).
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        let index = usize::from(crc as u8 ^ byte);
        crc >> 8 ^ CASTAGNOLI.get(index).copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_3720() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
