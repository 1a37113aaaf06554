//! Networks: lists of addresses, as CIDR blocks (RFC 4632).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Any number of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(pub Vec<Network>);

impl Networks {
    /// Whether one of them holds the address.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }
}

impl Network {
    /// Whether an address is in the block. An IPv4 address that came over an IPv6 socket is the
    /// IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (one, other) = (self.address.to_canonical(), address.to_canonical());
        one.is_ipv4() == other.is_ipv4() && prefix(one, self.bits) == prefix(other, self.bits)
    }
}

/// The first `bits` of an address, the others 0.
pub(crate) fn prefix(address: IpAddr, bits: u8) -> IpAddr {
    let kept = |bits: u8, width: u32| u128::MAX.checked_shl(width.saturating_sub(u32::from(bits)));
    match address {
        IpAddr::V4(v4) => {
            let mask = kept(bits, 32).unwrap_or(0) as u32;
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = kept(bits, 128).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is no address such as 10.0.0.7 or 10.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        match bits.unwrap_or(bits_max) {
            bits if bits <= bits_max => Ok(Self { address, bits }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_the_addresses_that_begin_like_them() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.1.2") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.4"));
        assert!(holds("0.0.0.0/0", "203.0.113.9") && !holds("0.0.0.0/0", "::2"));
        assert!(holds("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe00::1"));
        assert!(holds("::/0", "fe80::1"));
        for bad in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0/8"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
