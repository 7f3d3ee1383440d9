//! Enumerations whose values are words, the same in JSON, in flags and for people.
//! Refuses a value with two words.

/// Defines one: each value stands with its word. It has `ALL` and `word`; its derives are its own.
macro_rules! worded {
    (
        $(#[$of:meta])*
        pub enum $name:ident {
            $($(#[$about:meta])* $value:ident = $word:tt,)+
        }
    ) => {
        $(#[$of])*
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $value,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// Its word.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }
    };
}

pub(crate) use worded;
