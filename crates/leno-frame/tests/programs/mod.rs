//! Makes random programs: numbers, strings that are moved and assigned anew, branches, loops with labels,
//! calls, suspensions in the middle of expressions.

use std::fmt::Write;

/// The source of one program, as `both!` takes it.
pub(crate) fn program(seed: u64) -> String {
    let mut maker = Maker { state: seed, names: 0, budget: 0, points: 0 };
    maker.budget = 6 + maker.below(20) as i32;
    let start = maker.below(7);
    let (mut body, mut numbers, mut strings) = (String::new(), vec!["n".to_owned()], Vec::new());
    while maker.budget > 0 || maker.points == 0 {
        maker.budget -= 1;
        let dead = maker.block(&mut numbers, &mut strings, &[], 0, &mut body);
        if maker.points == 0 && maker.budget <= 0 {
            body += "co.suspend(n).await;\n";
            maker.points = 1;
        }
        if dead {
            break;
        }
    }
    format!(
        "p{seed}: {start}; {{
async fn helper(co: &mut H, k: i64) -> i64 {{
    let a = co.suspend(k).await; if a > 4 {{ return a; }} a + co.suspend(a).await
}}
async fn eat(co: &mut H, s: String) -> i64 {{ co.suspend(s.len() as i64).await }}
async fn main(co: &mut H, n: i64) -> i64 {{
{body}n
}}
}}
"
    )
}

struct Maker {
    state: u64,
    names: u32,
    /// How many more statements there may be.
    budget: i32,
    /// How many suspensions there are.
    points: u32,
}

/// A string variable, and whether it has a value.
type Strings = Vec<(String, bool)>;

/// A loop around: its label, if it has one, and the strings that had a value where it starts.
struct Around {
    label: Option<String>,
    alive: Vec<String>,
}

impl Maker {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    fn name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    fn suspension(&mut self, numbers: &[String]) -> String {
        self.points += 1;
        let value = self.number(numbers, 1, false);
        if self.chance(70) {
            format!("co.suspend({value}).await")
        } else {
            format!("helper(co, {value}).await")
        }
    }

    /// An expression of type `i64`, with suspensions or without.
    fn number(&mut self, numbers: &[String], depth: u32, suspends: bool) -> String {
        let kind = self.below(100);
        if suspends && kind < 35 {
            return self.suspension(numbers);
        }
        if depth == 0 || kind < 30 {
            return format!("{}", self.below(13) as i64 - 3);
        }
        let depth = depth - 1;
        match kind {
            ..60 => numbers[self.below(numbers.len())].clone(),
            60..75 => {
                let op = self.pick(&["+", "-"]);
                let (a, b) =
                    (self.number(numbers, depth, suspends), self.number(numbers, depth, suspends));
                format!("({a} {op} {b})")
            }
            75..82 => {
                let (a, b) =
                    (self.number(numbers, depth, suspends), self.number(numbers, depth, suspends));
                format!("i64::max({a}, {b})")
            }
            82..87 => {
                let test = self.test(numbers, depth, suspends);
                let (a, b) =
                    (self.number(numbers, depth, suspends), self.number(numbers, depth, suspends));
                format!("(if {test} {{ {a} }} else {{ {b} }})")
            }
            87..91 => format!("side(co.ctx(), {})", self.number(numbers, depth, false)),
            91..95 => {
                let (a, b) =
                    (self.number(numbers, depth, suspends), self.number(numbers, depth, suspends));
                format!("({a}, {b}).{}", self.below(2))
            }
            95..98 => {
                // A variable that is read before a suspension which changes it.
                let (m, value) = (self.name("m"), self.suspension(numbers));
                let first = self.number(numbers, 0, false);
                format!("{{ let mut {m} = {first}; {m} + {{ {m} += 1; {value} }} + {m} }}")
            }
            _ => format!("{{ let t = {}; t + 1 }}", self.number(numbers, depth, suspends)),
        }
    }

    fn test(&mut self, numbers: &[String], depth: u32, suspends: bool) -> String {
        let a = self.number(numbers, depth, suspends);
        match self.below(10) {
            ..6 => {
                let op = self.pick(&[">", "<", "==", "!=", ">="]);
                format!("{a} {op} {}", self.number(numbers, depth, false))
            }
            6 | 7 if depth > 0 => {
                let op = self.pick(&["&&", "||"]);
                let (a, b) = (
                    self.test(numbers, depth - 1, suspends),
                    self.test(numbers, depth - 1, suspends),
                );
                format!("({a} {op} {b})")
            }
            _ => format!("{a} % 2 == 0"),
        }
    }

    /// Some statements in a scope of their own; whether they never reach their end.
    fn block(
        &mut self,
        outer: &mut Vec<String>,
        strings: &mut Strings,
        around: &[Around],
        depth: u32,
        out: &mut String,
    ) -> bool {
        let (mut numbers, declared) = (outer.clone(), strings.len());
        let mut dead = false;
        for _ in 0..1 + self.below(4) {
            if self.budget <= 0 || dead {
                break;
            }
            self.budget -= 1;
            dead = self.statement(&mut numbers, strings, declared, around, depth, out);
        }
        if depth == 0 {
            *outer = numbers;
        } else {
            strings.truncate(declared);
        }
        dead
    }

    fn statement(
        &mut self,
        numbers: &mut Vec<String>,
        strings: &mut Strings,
        declared: usize,
        around: &[Around],
        depth: u32,
        out: &mut String,
    ) -> bool {
        match self.below(100) {
            ..12 => {
                let (name, value) = (self.name("v"), self.number(numbers, 2, true));
                let _ = writeln!(out, "let {name} = {value};");
                numbers.push(name);
            }
            12..22 => {
                let (name, value) = (self.name("m"), self.suspension(numbers));
                let _ = writeln!(out, "let mut {name} = {value};");
                numbers.push(name);
            }
            22..30 => {
                let mutable: Vec<&String> = numbers.iter().filter(|n| n.starts_with('m')).collect();
                let line = if mutable.is_empty() {
                    self.suspension(numbers)
                } else {
                    let name = mutable[self.below(mutable.len())];
                    let op = self.pick(&["=", "+=", "-="]);
                    format!("{name} {op} {}", self.number(numbers, 2, true))
                };
                let _ = writeln!(out, "{line};");
            }
            30..36 => {
                let (name, value) = (self.name("l"), self.number(numbers, 1, false));
                let _ = writeln!(out, "log!(co, \"{name} {{}}\", {value});");
            }
            36..42 => {
                let (name, value) = (self.name("s"), self.number(numbers, 1, false));
                let _ = writeln!(out, "let mut {name} = format!(\"<{{}}>\", {value});");
                strings.push((name, true));
            }
            42..52 => return self.string(numbers, strings, declared, around, out),
            52..64 if depth < 4 => return self.branch(numbers, strings, around, depth, out),
            64..72 if depth < 4 => self.matching(numbers, strings, around, depth, out),
            72..88 if depth < 3 => self.repeat(numbers, strings, around, depth, out),
            88..94 => self.jump(numbers, strings, around, out),
            94..97 => {
                let (test, value) = (self.test(numbers, 1, false), self.number(numbers, 1, false));
                let _ = writeln!(out, "if {test} {{ return {value}; }}");
            }
            _ => {
                let name = self.name("v");
                let _ = writeln!(out, "let {name} = {{");
                let dead = self.block(&mut numbers.clone(), strings, around, depth + 1, out);
                let value = self.number(numbers, 1, true);
                let _ = writeln!(out, "{value}\n}};");
                numbers.push(name);
                return dead;
            }
        }
        false
    }

    /// Uses, changes or moves a string; in a loop, one from outside gets another value or the loop ends.
    fn string(
        &mut self,
        numbers: &mut Vec<String>,
        strings: &mut Strings,
        declared: usize,
        around: &[Around],
        out: &mut String,
    ) -> bool {
        let alive: Vec<usize> = (0..strings.len()).filter(|i| strings[*i].1).collect();
        if alive.is_empty() {
            return false;
        }
        let i = alive[self.below(alive.len())];
        let name = strings[i].0.clone();
        match self.below(10) {
            ..3 => {
                let _ = writeln!(out, "{name}.push('x');");
            }
            3 | 4 => {
                let _ = writeln!(out, "log!(co, \"{{{name}}}\");");
            }
            5..8 => {
                let eaten = self.name("v");
                self.points += 1;
                let _ = writeln!(out, "let {eaten} = eat(co, {name}).await;");
                numbers.push(eaten);
                strings[i].1 = false;
                if !around.is_empty() && i < declared {
                    let value = self.number(numbers, 1, false);
                    if self.chance(50) {
                        let _ = writeln!(out, "{name} = format!(\"r{{}}\", {value});");
                        strings[i].1 = true;
                    } else {
                        let _ = writeln!(out, "return {value};");
                        return true;
                    }
                }
            }
            _ => {
                let value = self.suspension(numbers);
                let _ =
                    writeln!(out, "{name} = {{ let t = {value}; format!(\"{{t}}{{{name}}}\") }};");
            }
        }
        false
    }

    fn branch(
        &mut self,
        numbers: &mut [String],
        strings: &mut Strings,
        around: &[Around],
        depth: u32,
        out: &mut String,
    ) -> bool {
        let numbers = numbers.to_vec();
        let (mut then, mut other) = (strings.clone(), strings.clone());
        if self.chance(25) {
            let value = self.number(&numbers, 1, true);
            let _ = writeln!(
                out,
                "if let Some(w) = Some({value}).filter(|x| *x > 2) {{ log!(co, \"w{{w}}\");"
            );
        } else {
            let test = self.test(&numbers, 1, true);
            let _ = writeln!(out, "if {test} {{");
        }
        let then_dead = self.block(&mut numbers.clone(), &mut then, around, depth + 1, out);
        let mut other_dead = false;
        if self.chance(60) {
            let _ = writeln!(out, "}} else {{");
            other_dead = self.block(&mut numbers.clone(), &mut other, around, depth + 1, out);
        }
        let _ = writeln!(out, "}}");
        for (i, (_, alive)) in strings.iter_mut().enumerate() {
            *alive &= (then[i].1 || then_dead) && (other[i].1 || other_dead);
        }
        then_dead && other_dead
    }

    fn matching(
        &mut self,
        numbers: &mut [String],
        strings: &mut Strings,
        around: &[Around],
        depth: u32,
        out: &mut String,
    ) {
        let numbers = numbers.to_vec();
        let value = self.number(&numbers, 1, true);
        let _ = writeln!(out, "match {value} {{");
        let before = strings.clone();
        for pattern in &["0", "1 | 2", "3..=5", "x"][self.below(3)..] {
            let (mut inside, mut arm) = (numbers.clone(), before.clone());
            if *pattern == "x" {
                inside.push("x".to_owned());
            }
            let guarded = *pattern != "x" && self.chance(30);
            let guard = if guarded {
                format!(" if {}", self.test(&numbers, 1, false))
            } else {
                String::new()
            };
            let _ = writeln!(out, "{pattern}{guard} => {{");
            let dead = self.block(&mut inside, &mut arm, around, depth + 1, out);
            let _ = writeln!(out, "}}");
            for (i, (_, alive)) in strings.iter_mut().enumerate() {
                *alive &= arm[i].1 || dead;
            }
        }
        let _ = writeln!(out, "_ => {{}}\n}}");
    }

    fn repeat(
        &mut self,
        numbers: &mut [String],
        strings: &mut Strings,
        around: &[Around],
        depth: u32,
        out: &mut String,
    ) {
        let mut inside = numbers.to_vec();
        let label = self.chance(50).then(|| self.name("l"));
        let shown = label.as_ref().map(|label| format!("'{label}: ")).unwrap_or_default();
        let (count, times) = (self.name("c"), 1 + self.below(3));
        let alive =
            strings.iter().filter(|(_, alive)| *alive).map(|(name, _)| name.clone()).collect();
        let mut loops: Vec<Around> = around
            .iter()
            .map(|a| Around { label: a.label.clone(), alive: a.alive.clone() })
            .collect();
        loops.push(Around { label, alive });
        match self.below(4) {
            0 => {
                let _ = writeln!(out, "{shown}for {count} in 0..{times}i64 {{");
                inside.push(count);
            }
            1 => {
                let items = "vec![(1i64, \"p\".to_string()), (2, \"q\".to_string())]";
                let _ = writeln!(
                    out,
                    "{shown}for ({count}, z{count}) in {items} {{\nlog!(co, \"{{z{count}}}\");"
                );
                inside.push(count);
            }
            2 => {
                let _ = writeln!(
                    out,
                    "let mut {count} = 0;\n{shown}while {count} < {times} {{\n{count} += 1;"
                );
            }
            _ => {
                let _ = writeln!(out, "let mut {count} = 0;\n{shown}loop {{\n{count} += 1;");
                let _ = writeln!(out, "if {count} > {times} {{ break; }}");
            }
        }
        self.block(&mut inside, &mut strings.clone(), &loops, depth + 1, out);
        let _ = writeln!(out, "}}");
    }

    /// `break` or `continue`, where the strings that the loop needs have values.
    fn jump(&mut self, numbers: &[String], strings: &Strings, around: &[Around], out: &mut String) {
        let has = |name: &String| strings.iter().any(|(known, alive)| known == name && *alive);
        let fits: Vec<usize> =
            (0..around.len()).filter(|i| around[*i].alive.iter().all(has)).collect();
        if fits.is_empty() {
            return;
        }
        let i = fits[self.below(fits.len())];
        let label = match &around[i].label {
            Some(label) => format!(" '{label}"),
            None if i + 1 == around.len() => String::new(),
            None => return,
        };
        let (test, jump) = (self.test(numbers, 1, false), self.pick(&["break", "continue"]));
        let _ = writeln!(out, "if {test} {{ {jump}{label}; }}");
    }
}
