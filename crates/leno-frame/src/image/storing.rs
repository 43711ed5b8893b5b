//! Writes values only as deep as the stack has room for; see [`Limits`].
//!
//! A serializer around postcard's and serde_json's. Only what contains other values is wrapped; numbers and text go
//! straight through.

use std::fmt::Display;

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::limits::Limits;

/// A serializer, or a value that is written, with the limits it passes on.
pub(crate) struct Storing<'l, X>(pub X, pub &'l Limits);

impl<T: Serialize + ?Sized> Serialize for Storing<'_, &T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Storing(serializer, self.1))
    }
}

macro_rules! straight {
    ($($method:ident($($arg:ident: $ty:ty),*);)*) => { $(
        #[inline]
        fn $method(self, $($arg: $ty),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($arg),*)
        }
    )* };
}

macro_rules! deeper {
    ($($method:ident($($arg:ident: $ty:ty),*) -> $compound:ident;)*) => { $(
        #[inline]
        fn $method(self, $($arg: $ty),*) -> Result<Self::$compound, S::Error> {
            self.1.room(0).map_err(S::Error::custom)?;
            Ok(Storing(self.0.$method($($arg),*)?, self.1))
        }
    )* };
}

impl<'l, S: Serializer> Serializer for Storing<'l, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Storing<'l, S::SerializeSeq>;
    type SerializeTuple = Storing<'l, S::SerializeTuple>;
    type SerializeTupleStruct = Storing<'l, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Storing<'l, S::SerializeTupleVariant>;
    type SerializeMap = Storing<'l, S::SerializeMap>;
    type SerializeStruct = Storing<'l, S::SerializeStruct>;
    type SerializeStructVariant = Storing<'l, S::SerializeStructVariant>;

    straight! {
        serialize_bool(v: bool);
        serialize_i8(v: i8);
        serialize_i16(v: i16);
        serialize_i32(v: i32);
        serialize_i64(v: i64);
        serialize_i128(v: i128);
        serialize_u8(v: u8);
        serialize_u16(v: u16);
        serialize_u32(v: u32);
        serialize_u64(v: u64);
        serialize_u128(v: u128);
        serialize_f32(v: f32);
        serialize_f64(v: f64);
        serialize_char(v: char);
        serialize_str(v: &str);
        serialize_bytes(v: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    deeper! {
        serialize_seq(length: Option<usize>) -> SerializeSeq;
        serialize_tuple(length: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(
            name: &'static str, index: u32, variant: &'static str, length: usize
        ) -> SerializeTupleVariant;
        serialize_map(length: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct;
        serialize_struct_variant(
            name: &'static str, index: u32, variant: &'static str, length: usize
        ) -> SerializeStructVariant;
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.1.room(0).map_err(S::Error::custom)?;
        self.0.serialize_some(&Storing(value, self.1))
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.1.room(0).map_err(S::Error::custom)?;
        self.0.serialize_newtype_struct(name, &Storing(value, self.1))
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.1.room(0).map_err(S::Error::custom)?;
        self.0.serialize_newtype_variant(name, index, variant, &Storing(value, self.1))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.1.tell();
        self.0.is_human_readable()
    }
}

macro_rules! compound {
    ($($compound:ident::$method:ident;)*) => { $(
        impl<S: $compound> $compound for Storing<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$method(&Storing(value, self.1))
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )* };
}

compound! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

macro_rules! fields {
    ($($compound:ident)*) => { $(
        impl<S: $compound> $compound for Storing<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(name, &Storing(value, self.1))
            }

            #[inline]
            fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(name)
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )* };
}

fields! { SerializeStruct SerializeStructVariant }

impl<S: SerializeMap> SerializeMap for Storing<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(&Storing(key, self.1))
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Storing(value, self.1))
    }

    #[inline]
    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &V,
    ) -> Result<(), S::Error> {
        self.0.serialize_entry(&Storing(key, self.1), &Storing(value, self.1))
    }

    #[inline]
    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}
