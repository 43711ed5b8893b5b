//@ says: error[E0716]
//@ says: LOCAL.with(|value| *value)
//@ errors: 1
const LOCAL: leno::Local<u32> = leno::Local::new(|| 0);

fn main() {
    LOCAL.with(|value| *value);
}
