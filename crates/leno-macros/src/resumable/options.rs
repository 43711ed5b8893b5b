//! `#[resumable(id = "name")]`.

use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token};

#[derive(Default)]
pub(crate) struct Options {
    /// What frames of this function are called in images, whatever its path.
    pub id: Option<String>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key != "id" {
                let message = "unknown option; there is `id = \"a::stable::name\"`";
                return Err(Error::new(key.span(), message));
            }
            input.parse::<Token![=]>()?;
            options.id = Some(input.parse::<LitStr>()?.value());
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}
