//! Errors that are debugged as they are told.

/// `Debug` as `Display`, since it is what `unwrap` and a `main` that returns errors print.
///
/// # Examples
/// ```
/// struct Full(&'static str);
///
/// impl core::fmt::Display for Full {
///     fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
///         write!(f, "queue '{}' has no room", self.0)
///     }
/// }
///
/// leno_context::debug_as_told!(Full);
/// assert_eq!(format!("{:?}", Full("a")), "queue 'a' has no room");
/// ```
#[macro_export]
macro_rules! debug_as_told {
    ($($error:ident $(<$value:ident>)?),+ $(,)?) => {$(
        impl $(<$value>)? ::core::fmt::Debug for $error $(<$value>)? {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }
    )+};
}
