//! Reads values within [`Limits`].
//!
//! A deserializer around postcard's and serde_json's. Only what contains other values is wrapped; numbers and text go
//! straight through.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::limits::Limits;

/// Reads a value, and says what is left of the bytes.
pub(crate) fn read<'b, T: DeserializeOwned>(
    bytes: &'b [u8],
    limits: &Limits,
) -> postcard::Result<(T, &'b [u8])> {
    let mut reader = postcard::Deserializer::from_bytes(bytes);
    let value = T::deserialize(Bounded(&mut reader, limits))?;
    Ok((value, reader.finalize()?))
}

/// Reads a value of JSON that was parsed.
pub(crate) fn read_json<T: DeserializeOwned>(
    value: serde_json::Value,
    limits: &Limits,
) -> serde_json::Result<T> {
    T::deserialize(Bounded(value, limits))
}

/// Anything that reads or is read, with the limits it passes on.
pub(super) struct Bounded<'l, X>(pub X, pub &'l Limits);

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

macro_rules! visits {
    ($($method:ident($ty:ty))*) => { $(
        #[inline]
        fn $method<E: Error>(self, value: $ty) -> Result<V::Value, E> {
            self.0.$method(value)
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

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.1.tell();
        self.0.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visits! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    #[inline]
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
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
        self.1.item::<S::Value, _>()?;
        self.0.next_element_seed(Bounded(seed, self.1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.1.in_advance(self.0.size_hint())
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.1.item::<S::Value, _>()?;
        self.0.next_key_seed(Bounded(seed, self.1))
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.1.memory::<S::Value, _>()?;
        self.0.next_value_seed(Bounded(seed, self.1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.1.in_advance(self.0.size_hint())
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
