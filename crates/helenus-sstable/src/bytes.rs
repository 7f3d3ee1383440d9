//! Numbers and texts as Java's data streams write them, and reading back the parts of a value of CQL.
//! Refuses anything longer than what Java can read.

pub(crate) use helenus_cql::codec::vint::write_unsigned as put_vint;

pub(crate) fn put_u16(n: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&n.to_be_bytes());
}

pub(crate) fn put_i32(n: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&n.to_be_bytes());
}

pub(crate) fn put_i64(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&n.to_be_bytes());
}

pub(crate) fn put_f64(n: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&n.to_be_bytes());
}

/// A count that Java keeps in an int.
pub(crate) fn put_count(n: usize, out: &mut Vec<u8>) {
    put_i32(i32::try_from(n).unwrap_or(i32::MAX), out);
}

/// A short text as `DataOutput.writeUTF` has it. Ours are ASCII.
pub(crate) fn put_utf(text: &str, out: &mut Vec<u8>) {
    put_u16(u16::try_from(text.len()).unwrap_or(u16::MAX), out);
    out.extend_from_slice(text.as_bytes());
}

/// Bytes behind their length as an unsigned vint.
pub(crate) fn put_with_vint(bytes: &[u8], out: &mut Vec<u8>) {
    put_vint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Bytes behind their length in two bytes: keys are never longer.
pub(crate) fn put_with_u16(bytes: &[u8], out: &mut Vec<u8>) {
    put_u16(u16::try_from(bytes.len()).unwrap_or(u16::MAX), out);
    out.extend_from_slice(bytes);
}

/// The parts of a collection, a tuple or a user type as CQL serialises them.
#[derive(Debug, Clone)]
pub(crate) struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Of a value without a count: a tuple or a user type.
    pub(crate) fn of(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    /// Of a collection: its count, and what follows.
    pub(crate) fn counted(value: &'a [u8]) -> Option<(usize, Self)> {
        let (count, rest) = value.split_first_chunk::<4>()?;
        let count = usize::try_from(i32::from_be_bytes(*count)).ok()?;
        Some((count, Self { rest }))
    }
}

impl<'a> Iterator for Parts<'a> {
    /// None within is null; a part that ends too early ends the parts.
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            self.rest = rest;
            return Some(None);
        };
        let (part, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Some(part))
    }
}
