//! Why bytes are not a message, and why a value cannot become bytes; facts in fields.
//! Refuses anything about sockets: those errors are the client's.

/// Bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("{what} needs {needed} more bytes, {left} are left")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes wanted.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
    /// Something follows the end.
    #[error("{left} bytes follow the end of {what}")]
    Trailing {
        /// What ended.
        what: &'static str,
        /// Bytes behind it.
        left: usize,
    },
    /// Text that is not UTF-8 (or not ASCII where ASCII is due).
    #[error("{what} is not valid text")]
    NotText {
        /// What was being read.
        what: &'static str,
    },
    /// A code that the protocol does not have.
    #[error("unknown {what} {code:#x}")]
    UnknownCode {
        /// What kind of code.
        what: &'static str,
        /// The code.
        code: i64,
    },
    /// A name that the protocol does not have.
    #[error("unknown {what} {name:?}")]
    UnknownName {
        /// What kind of name.
        what: &'static str,
        /// The name, cut after 100 characters.
        name: String,
    },
    /// A protocol version other than 4 and 5.
    #[error("protocol version {found}, this codec speaks 4 and 5")]
    Version {
        /// The version in the header.
        found: u8,
    },
    /// A request where a response is due, or the other way round.
    #[error("expected a {expected}, found opcode {opcode:#04x} going the other way")]
    Direction {
        /// `request` or `response`.
        expected: &'static str,
        /// The opcode found.
        opcode: u8,
    },
    /// A flag that would change the body's meaning and is not supported.
    #[error("{what} uses the unsupported flags {flags:#x}")]
    Flags {
        /// What carries the flags.
        what: &'static str,
        /// The flags.
        flags: u32,
    },
    /// A negative length or count where none is allowed, or one that the bytes cannot hold.
    #[error("{what} has the impossible count {count} (at most {most} are possible here)")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The count found.
        count: i64,
        /// The most that could be true.
        most: usize,
    },
    /// A value whose length does not fit its type.
    #[error("a {ty} cannot have {found} bytes")]
    ValueLength {
        /// The type, as CQL writes it.
        ty: &'static str,
        /// Bytes found.
        found: usize,
    },
    /// Null or nothing inside a collection.
    #[error("null inside a {ty}")]
    NullElement {
        /// The kind of collection.
        ty: &'static str,
    },
    /// Types nested deeper than any schema.
    #[error("types are nested deeper than {most} levels")]
    TooDeep {
        /// Levels allowed.
        most: usize,
    },
    /// An envelope longer than the protocol allows.
    #[error("an envelope of {length} bytes, the protocol allows {most}")]
    TooLong {
        /// Bytes announced.
        length: usize,
        /// Bytes allowed.
        most: usize,
    },
    /// A few bytes that would unfold to very many.
    #[error("the body unfolds to far more memory than its {length} bytes warrant")]
    Inflated {
        /// Bytes of the body.
        length: usize,
    },
    /// A payload that is not what LZ4 makes of so many bytes.
    #[error("the frame's payload does not unpack to {length} bytes")]
    Unpacked {
        /// Bytes that it should be.
        length: usize,
    },
    /// A checksum that does not match.
    #[error("the checksum of the frame's {part} is {computed:#x}, sent was {sent:#x}")]
    Checksum {
        /// `header` or `payload`.
        part: &'static str,
        /// As sent.
        sent: u32,
        /// As computed.
        computed: u32,
    },
    /// A server-side class name that does not parse.
    #[error("the type class {class:?} does not parse at character {at}")]
    Class {
        /// The name, cut after 100 characters.
        class: String,
        /// Where it stops making sense.
        at: usize,
    },
}

/// A value or message that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The value is of another type.
    #[error("a {found} cannot be written as {expected}")]
    Mismatch {
        /// The type wanted, as CQL writes it.
        expected: String,
        /// The kind of value given.
        found: &'static str,
    },
    /// Too long for the length field that goes before it.
    #[error("{what} has {length} bytes or items, the protocol allows {most}")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// A vector, tuple or user type of the wrong number of items.
    #[error("{ty} has {expected} items, {found} were given")]
    Arity {
        /// The type.
        ty: String,
        /// Items wanted.
        expected: usize,
        /// Items given.
        found: usize,
    },
    /// A user-type value whose field is not the type's.
    #[error("{ty} has no field {field:?} at this place")]
    Field {
        /// The type.
        ty: String,
        /// The field given.
        field: String,
    },
    /// Text outside US-ASCII for an `ascii`.
    #[error("an ascii cannot hold {text:?}")]
    NotAscii {
        /// The text.
        text: String,
    },
    /// Something that only v5 can express.
    #[error("{what} needs protocol v5")]
    NeedsV5 {
        /// What it is.
        what: &'static str,
    },
}

/// The first 100 characters, for an error that quotes foreign text.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(100).collect()
}
