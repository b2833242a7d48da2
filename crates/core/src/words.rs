//! Declares closed lists: enums whose variants have wire words.

/// Declares an enum with a wire word for each variant, its list `ALL`, `as_str` and `Display`. The enum derives
/// `Serialize`, which uses the same words, and the traits of a plain value. Its order is that of the declaration.
#[macro_export]
#[doc(hidden)]
macro_rules! word_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        $vis enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Returns the wire word.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.as_str())
            }
        }
    };
}

/// Declares a `word_enum` that journals and printed data contain.
macro_rules! stored_enum {
    ($($declaration:tt)*) => {
        $crate::word_enum! {
            #[derive(serde::Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            $($declaration)*
        }
    };
}
pub(crate) use stored_enum;
