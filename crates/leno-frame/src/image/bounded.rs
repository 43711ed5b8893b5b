//! Reads postcard with limits: on how deep values are nested, because reading goes as deep on the native
//! stack, and on how many items there are, because items without a size cost no bytes.
//!
//! A deserializer around postcard's. Only what contains other values is wrapped; numbers and text go
//! straight through.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::scope;

/// How deep values may be nested unless `Options::nesting` says otherwise: as deep as serde_json reads. At
/// 1,024 a debug build with a sanitizer overflowed the stack of a thread.
pub(crate) const NESTING: usize = 128;

/// What may still be read.
struct Limits {
    nesting: Cell<usize>,
    items: Cell<usize>,
}

/// Reads a value, and says what is left of the bytes.
pub(crate) fn read<T: DeserializeOwned>(
    bytes: &[u8],
    nesting: usize,
) -> postcard::Result<(T, &[u8])> {
    let items = bytes.len().saturating_mul(16).saturating_add(1 << 16);
    let limits = Limits { nesting: Cell::new(nesting), items: Cell::new(items) };
    let mut reader = postcard::Deserializer::from_bytes(bytes);
    let value = T::deserialize(Bounded(&mut reader, &limits))?;
    Ok((value, reader.finalize()?))
}

impl Limits {
    /// Runs `read` one level deeper.
    #[inline]
    fn deeper<T, E: Error>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Some(left) = self.nesting.get().checked_sub(1) else {
            return Err(refuse("it is nested too deeply; see `Options::nesting`"));
        };
        self.nesting.set(left);
        let result = read();
        self.nesting.set(left + 1);
        result
    }

    #[inline]
    fn item<E: Error>(&self) -> Result<(), E> {
        let left = self.items.get().checked_sub(1);
        self.items.set(left.ok_or_else(|| refuse("it has more items than its bytes can mean"))?);
        Ok(())
    }
}

/// postcard does not keep the text of an error, so it is put aside.
#[cold]
#[inline(never)]
fn refuse<E: Error>(why: &str) -> E {
    scope::complain(why.to_owned());
    E::custom(why)
}

/// Anything that reads or is read, with the limits it passes on.
struct Bounded<'l, X>(X, &'l Limits);

macro_rules! straight {
    ($($method:ident)*) => { $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(visitor)
        }
    )* };
}

macro_rules! deeper {
    ($($method:ident($($arg:ident: $ty:ty),*);)*) => { $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $($arg: $ty,)* visitor: V) -> Result<V::Value, D::Error> {
            let limits = self.1;
            limits.deeper(|| self.0.$method($($arg,)* Bounded(visitor, limits)))
        }
    )* };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Bounded<'_, D> {
    type Error = D::Error;

    straight! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_unit deserialize_identifier
    }

    deeper! {
        deserialize_any();
        deserialize_ignored_any();
        deserialize_option();
        deserialize_seq();
        deserialize_map();
        deserialize_newtype_struct(name: &'static str);
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Bounded(inner, self.1))
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Bounded(inner, self.1))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Bounded(items, self.1))
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Bounded(entries, self.1))
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Bounded(variant, self.1))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Bounded(inner, self.1))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.1.item()?;
        self.0.next_element_seed(Bounded(seed, self.1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.1.item()?;
        self.0.next_key_seed(Bounded(seed, self.1))
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Bounded(seed, self.1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, 'l, A: EnumAccess<'de>> EnumAccess<'de> for Bounded<'l, A> {
    type Error = A::Error;
    type Variant = Bounded<'l, A::Variant>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Bounded(seed, self.1))?;
        Ok((value, Bounded(variant, self.1)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    #[inline]
    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Bounded(seed, self.1))
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Bounded(visitor, self.1))
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Bounded(visitor, self.1))
    }
}
