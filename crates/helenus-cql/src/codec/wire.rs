//! The protocol's primitive notations, `[short]`, `[string]`, `[bytes]` and so on, both ways.
//! Refuses messages; those are built of these.

use super::error::{DecodeError, EncodeError};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Heap bytes that a body may unfold to whatever its length.
const BUDGET_BASE: usize = 1 << 20;
/// Heap bytes that each byte of a body may unfold to. A user type of one-byte fields with names
/// of ten characters needs about 16.
const BUDGET_FACTOR: usize = 64;

/// Memory that decoding may spend on what the bytes do not carry themselves: names repeated for
/// each row, fields left out. Keeps a small hostile body from unfolding to a huge one.
#[derive(Debug)]
pub struct Budget {
    length: usize,
    left: usize,
}

impl Budget {
    /// The budget of a body of `length` bytes.
    pub fn of(length: usize) -> Self {
        let left = BUDGET_BASE.saturating_add(length.saturating_mul(BUDGET_FACTOR));
        Self { length, left }
    }

    /// Spends `bytes`.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn spend(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.left = self.left.checked_sub(bytes).ok_or(DecodeError::Inflated {
            length: self.length,
        })?;
        Ok(())
    }
}

/// Reads primitives off a slice.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Everything not read yet.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Checks that all was read.
    ///
    /// # Errors
    /// Something is left.
    #[inline]
    pub fn end(&self, what: &'static str) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { what, left }),
        }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// Fewer are left.
    #[inline]
    pub fn take(&mut self, what: &'static str, count: usize) -> Result<&'a [u8], DecodeError> {
        let truncated = DecodeError::Truncated {
            what,
            needed: count,
            left: self.bytes.len(),
        };
        let (head, tail) = self.bytes.split_at_checked(count).ok_or(truncated)?;
        self.bytes = tail;
        Ok(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(what, N)?);
        Ok(array)
    }

    /// One byte.
    ///
    /// # Errors
    /// None is left.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// `[short]`.
    ///
    /// # Errors
    /// Too few bytes.
    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_be_bytes)
    }

    /// `[int]`.
    ///
    /// # Errors
    /// Too few bytes.
    #[inline]
    pub fn i32(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// `[long]`.
    ///
    /// # Errors
    /// Too few bytes.
    #[inline]
    pub fn i64(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// `[uuid]`.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn uuid(&mut self, what: &'static str) -> Result<[u8; 16], DecodeError> {
        self.array(what)
    }

    /// An `[int]` that counts items of at least `least` bytes each, which must all be there.
    ///
    /// # Errors
    /// A negative count, or more items than the bytes left can hold.
    pub fn count(&mut self, what: &'static str, least: usize) -> Result<usize, DecodeError> {
        let count = self.i32(what)?;
        self.plausible(what, i64::from(count), least)
    }

    /// A `[short]` that counts items of at least `least` bytes each.
    ///
    /// # Errors
    /// More items than the bytes left can hold.
    pub fn short_count(&mut self, what: &'static str, least: usize) -> Result<usize, DecodeError> {
        let count = self.u16(what)?;
        self.plausible(what, i64::from(count), least)
    }

    fn plausible(
        &self,
        what: &'static str,
        count: i64,
        least: usize,
    ) -> Result<usize, DecodeError> {
        let most = self.left() / least.max(1);
        match usize::try_from(count) {
            Ok(n) if n <= most => Ok(n),
            _ => Err(DecodeError::Count { what, count, most }),
        }
    }

    fn text(&mut self, what: &'static str, length: usize) -> Result<String, DecodeError> {
        let bytes = self.take(what, length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::NotText { what })?;
        Ok(text.to_owned())
    }

    /// `[string]`.
    ///
    /// # Errors
    /// Too few bytes, or not UTF-8.
    pub fn string(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let length = self.u16(what)?;
        self.text(what, usize::from(length))
    }

    /// `[long string]`.
    ///
    /// # Errors
    /// Too few bytes, or not UTF-8.
    pub fn long_string(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let length = self.count(what, 1)?;
        self.text(what, length)
    }

    /// `[short bytes]`.
    ///
    /// # Errors
    /// Too few bytes.
    #[inline]
    pub fn short_bytes(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u16(what)?;
        self.take(what, usize::from(length))
    }

    /// `[bytes]`: any negative length is null.
    ///
    /// # Errors
    /// Too few bytes.
    #[inline]
    pub fn bytes(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, DecodeError> {
        match usize::try_from(self.i32(what)?) {
            Ok(length) => self.take(what, length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// `[inetaddr]`: an address without a port.
    ///
    /// # Errors
    /// Too few bytes, or a length other than 4 and 16.
    pub fn address(&mut self, what: &'static str) -> Result<IpAddr, DecodeError> {
        match self.u8(what)? {
            4 => Ok(IpAddr::from(self.array::<4>(what)?)),
            16 => Ok(IpAddr::from(self.array::<16>(what)?)),
            length => Err(DecodeError::UnknownCode {
                what: "address length",
                code: i64::from(length),
            }),
        }
    }

    /// `[inet]`: an address and a port.
    ///
    /// # Errors
    /// Too few bytes, a wrong address length, or a port out of range.
    pub fn socket_address(&mut self, what: &'static str) -> Result<SocketAddr, DecodeError> {
        let address = self.address(what)?;
        let port = self.i32(what)?;
        let port = u16::try_from(port).map_err(|_| DecodeError::UnknownCode {
            what: "port",
            code: i64::from(port),
        })?;
        Ok(SocketAddr::new(address, port))
    }

    /// `[string list]`.
    ///
    /// # Errors
    /// Too few bytes, or not UTF-8.
    pub fn string_list(&mut self, what: &'static str) -> Result<Vec<String>, DecodeError> {
        let count = self.short_count(what, 2)?;
        (0..count).map(|_| self.string(what)).collect()
    }

    /// `[string map]`.
    ///
    /// # Errors
    /// Too few bytes, or not UTF-8.
    pub fn string_map(
        &mut self,
        what: &'static str,
    ) -> Result<BTreeMap<String, String>, DecodeError> {
        let count = self.short_count(what, 4)?;
        (0..count)
            .map(|_| Ok((self.string(what)?, self.string(what)?)))
            .collect()
    }

    /// `[string multimap]`.
    ///
    /// # Errors
    /// Too few bytes, or not UTF-8.
    pub fn string_multimap(
        &mut self,
        what: &'static str,
    ) -> Result<BTreeMap<String, Vec<String>>, DecodeError> {
        let count = self.short_count(what, 4)?;
        (0..count)
            .map(|_| Ok((self.string(what)?, self.string_list(what)?)))
            .collect()
    }

    /// `[bytes map]`.
    ///
    /// # Errors
    /// Too few bytes, or not UTF-8.
    pub fn bytes_map(
        &mut self,
        what: &'static str,
    ) -> Result<BTreeMap<String, Option<Vec<u8>>>, DecodeError> {
        let count = self.short_count(what, 6)?;
        let pair = |_| Ok((self.string(what)?, self.bytes(what)?.map(<[u8]>::to_vec)));
        (0..count).map(pair).collect()
    }
}

/// Writes primitives to the end of a buffer; what can be too long says so.
pub trait Write {
    /// `[byte]`.
    fn put_u8(&mut self, n: u8);
    /// `[short]`.
    fn put_u16(&mut self, n: u16);
    /// `[int]`.
    fn put_i32(&mut self, n: i32);
    /// `[long]`.
    fn put_i64(&mut self, n: i64);
    /// A `[short]` that counts.
    ///
    /// # Errors
    /// More than 65 535.
    fn put_short_count(&mut self, what: &'static str, count: usize) -> Result<(), EncodeError>;
    /// An `[int]` that counts.
    ///
    /// # Errors
    /// More than 2^31 − 1.
    fn put_count(&mut self, what: &'static str, count: usize) -> Result<(), EncodeError>;
    /// `[string]`.
    ///
    /// # Errors
    /// Longer than 65 535 bytes.
    fn put_string(&mut self, what: &'static str, text: &str) -> Result<(), EncodeError>;
    /// `[long string]`.
    ///
    /// # Errors
    /// Longer than 2^31 − 1 bytes.
    fn put_long_string(&mut self, what: &'static str, text: &str) -> Result<(), EncodeError>;
    /// `[short bytes]`.
    ///
    /// # Errors
    /// Longer than 65 535 bytes.
    fn put_short_bytes(&mut self, what: &'static str, bytes: &[u8]) -> Result<(), EncodeError>;
    /// `[bytes]`; none is null.
    ///
    /// # Errors
    /// Longer than 2^31 − 1 bytes.
    fn put_bytes(&mut self, what: &'static str, bytes: Option<&[u8]>) -> Result<(), EncodeError>;
    /// `[inetaddr]`.
    fn put_address(&mut self, address: IpAddr);
    /// `[inet]`.
    fn put_socket_address(&mut self, address: SocketAddr);
    /// `[string list]`.
    ///
    /// # Errors
    /// Too many, or one too long.
    fn put_string_list(&mut self, what: &'static str, list: &[String]) -> Result<(), EncodeError>;
}

impl Write for Vec<u8> {
    #[inline]
    fn put_u8(&mut self, n: u8) {
        self.push(n);
    }

    #[inline]
    fn put_u16(&mut self, n: u16) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    #[inline]
    fn put_i32(&mut self, n: i32) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    #[inline]
    fn put_i64(&mut self, n: i64) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    #[inline]
    fn put_short_count(&mut self, what: &'static str, count: usize) -> Result<(), EncodeError> {
        let short = u16::try_from(count).map_err(|_| EncodeError::TooLong {
            what,
            length: count,
            most: usize::from(u16::MAX),
        })?;
        self.put_u16(short);
        Ok(())
    }

    #[inline]
    fn put_count(&mut self, what: &'static str, count: usize) -> Result<(), EncodeError> {
        let int = i32::try_from(count).map_err(|_| EncodeError::TooLong {
            what,
            length: count,
            most: i32::MAX as usize,
        })?;
        self.put_i32(int);
        Ok(())
    }

    fn put_string(&mut self, what: &'static str, text: &str) -> Result<(), EncodeError> {
        self.put_short_bytes(what, text.as_bytes())
    }

    fn put_long_string(&mut self, what: &'static str, text: &str) -> Result<(), EncodeError> {
        self.put_bytes(what, Some(text.as_bytes()))
    }

    #[inline]
    fn put_short_bytes(&mut self, what: &'static str, bytes: &[u8]) -> Result<(), EncodeError> {
        self.put_short_count(what, bytes.len())?;
        self.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn put_bytes(&mut self, what: &'static str, bytes: Option<&[u8]>) -> Result<(), EncodeError> {
        match bytes {
            None => self.put_i32(-1),
            Some(bytes) => {
                self.put_count(what, bytes.len())?;
                self.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn put_address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(v4) => {
                self.push(4);
                self.extend_from_slice(&v4.octets());
            }
            IpAddr::V6(v6) => {
                self.push(16);
                self.extend_from_slice(&v6.octets());
            }
        }
    }

    fn put_socket_address(&mut self, address: SocketAddr) {
        self.put_address(address.ip());
        self.put_i32(i32::from(address.port()));
    }

    fn put_string_list(&mut self, what: &'static str, list: &[String]) -> Result<(), EncodeError> {
        self.put_short_count(what, list.len())?;
        list.iter().try_for_each(|text| self.put_string(what, text))
    }
}
