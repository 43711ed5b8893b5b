//! Which variable each name means, and the numbers and labels of suspensions.

use std::collections::{HashMap, HashSet};

use proc_macro2::Ident;
use quote::ToTokens;
use syn::visit::Visit;
use syn::{Error, Expr, Pat, Stmt};

use crate::resumable::ir::{Facts, Line, Node, Point, Seq, Set, VarId};
use crate::resumable::names::{Scan, bound, cond_bound, perhaps_declared, text};

pub(crate) struct Var {
    pub ident: Ident,
    pub mutable: bool,
    /// Bound by a plain `let name = ..`, and so perhaps only kept to be dropped later.
    pub plain: bool,
}

#[derive(Default)]
pub(crate) struct Resolve {
    pub vars: Vec<Var>,
    pub errors: Vec<Error>,
    /// How many suspensions there are of each name, named by their users or not.
    counts: HashMap<String, u32>,
    /// The handle, which is no variable.
    co: String,
    scopes: Vec<Vec<(String, VarId)>>,
    next_point: u32,
    /// The numbers of the labels so far. Compact images find suspensions by these, so they differ.
    labels: HashSet<u32>,
    /// Names that macros may have declared: by which, and after which suspension.
    declared: HashMap<String, (String, u32)>,
}

impl Resolve {
    pub(crate) fn new(counts: HashMap<String, u32>, co: &Ident) -> Self {
        let (co, scopes) = (text(co), vec![Vec::new()]);
        Resolve { counts, co, scopes, ..Resolve::default() }
    }

    pub(crate) fn declare(&mut self, names: Vec<(Ident, bool)>) -> Vec<VarId> {
        let mut ids = Vec::new();
        for (ident, mutable) in names {
            let Ok(id) = VarId::try_from(self.vars.len()) else {
                self.errors
                    .push(Error::new(ident.span(), "a resumable fn has at most 65,536 variables"));
                break;
            };
            if let Some(scope) = self.scopes.last_mut() {
                scope.push((text(&ident), id));
            }
            self.vars.push(Var { ident, mutable, plain: false });
            ids.push(id);
        }
        ids
    }

    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        self.scopes.push(Vec::new());
        inside(self);
        self.scopes.pop();
    }

    fn lookup(&self, name: &str) -> Option<VarId> {
        let names = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        names.into_iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    fn visible(&self) -> Vec<(String, VarId)> {
        let mut seen: Vec<(String, VarId)> = Vec::new();
        for (name, id) in self.scopes.iter().rev().flat_map(|scope| scope.iter().rev()) {
            if !seen.iter().any(|(known, _)| known == name) {
                seen.push((name.clone(), *id));
            }
        }
        seen
    }

    fn facts(&mut self, look: impl FnOnce(&mut Scan)) -> Facts {
        let mut scan = Scan::default();
        look(&mut scan);
        self.refuse_hidden(&scan);
        let uses: Set = scan.names.iter().filter_map(|name| self.lookup(name)).collect();
        Facts { mentions: uses.clone(), uses, kill: None, jumps: scan.jumps, diverges: false }
    }

    /// A macro is not looked into: a variable that it declares is in no frame.
    fn refuse_hidden(&mut self, scan: &Scan) {
        for (name, span) in &scan.paths {
            let Some((by, before)) = self.declared.get(name) else { continue };
            if self.lookup(name).is_none() && self.next_point > *before {
                let message = format!(
                    "`{name}` seems to be declared by the macro `{by}!`, which `#[resumable]` does not \
                     look into: no frame would hold it\nhelp: declare it in the body itself, \
                     `let {name} = ..`"
                );
                self.errors.push(Error::new(*span, message));
            }
        }
    }

    fn facts_of_expr(&mut self, e: &Expr) -> Facts {
        let mut facts = match e {
            // `x = value` ends the old value of x before it starts a new one.
            Expr::Assign(assign) if let Some(name) = as_name(&assign.left) => {
                let mut facts = self.facts(|scan| scan.visit_expr(&assign.right));
                if let Some(id) = self.lookup(&text(name)) {
                    facts.mentions.insert(id);
                    facts.kill = Some(id);
                }
                facts
            }
            _ => self.facts(|scan| scan.visit_expr(e)),
        };
        facts.diverges = matches!(e, Expr::Return(_) | Expr::Break(_) | Expr::Continue(_));
        facts
    }

    pub(crate) fn seq(&mut self, seq: &mut Seq) {
        self.scoped(|this| {
            seq.lines.iter_mut().for_each(|line| this.line(line));
            if let Some(tail) = &mut seq.tail {
                this.node(tail);
            }
        });
    }

    fn line(&mut self, line: &mut Line) {
        match line {
            Line::Opaque { stmt, code, defs } => match &**stmt {
                Stmt::Local(local) => {
                    *code = self.facts(|scan| {
                        if let Some(init) = &local.init {
                            scan.visit_expr(&init.expr);
                            init.diverge.iter().for_each(|(_, other)| scan.visit_expr(other));
                        }
                    });
                    *defs = self.declare(bound(&local.pat));
                    let pat =
                        if let Pat::Type(typed) = &local.pat { &typed.pat } else { &local.pat };
                    if let (Pat::Ident(_), [id]) = (pat, &defs[..]) {
                        self.vars[usize::from(*id)].plain = true;
                    }
                }
                Stmt::Expr(e, _) => *code = self.facts_of_expr(e),
                stmt => {
                    *code = self.facts(|scan| scan.visit_stmt(stmt));
                    if let Stmt::Macro(m) = stmt
                        && let Some(name) = perhaps_declared(m.mac.tokens.clone())
                        && name != self.co
                        && let Some(by) = m.mac.path.segments.last()
                    {
                        self.declared.insert(name, (by.ident.to_string(), self.next_point));
                    }
                }
            },
            Line::Let(binding) => {
                self.node(&mut binding.init);
                binding.defs = self.declare(bound(&binding.pat));
            }
            Line::Do { node, .. } => self.node(node),
        }
    }

    fn node(&mut self, node: &mut Node) {
        let lo = self.next_point + 1;
        match node {
            Node::Plain { expr, code } => *code = self.facts_of_expr(expr),
            Node::Point(point) => self.point(point),
            Node::If(node) => {
                node.code = self.facts(|scan| scan.visit_expr(&node.cond));
                self.scoped(|this| {
                    node.defs = this.declare(cond_bound(&node.cond));
                    this.seq(&mut node.then);
                });
                node.els.iter_mut().for_each(|els| self.seq(els));
            }
            Node::Match(node) => {
                node.code = self.facts(|scan| scan.visit_expr(&node.scrutinee));
                for arm in &mut node.arms {
                    self.scoped(|this| {
                        arm.defs = this.declare(bound(&arm.pat));
                        if let Some(guard) = &arm.guard {
                            arm.guard_code = this.facts(|scan| scan.visit_expr(guard));
                        }
                        this.seq(&mut arm.body);
                    });
                }
            }
            Node::Loop { body: seq, .. } | Node::Block { seq, .. } => self.seq(seq),
        }
        if let Some(at) = node.extent_mut() {
            (at.lo, at.hi) = (lo, self.next_point);
        }
    }

    fn point(&mut self, point: &mut Point) {
        self.next_point += 1;
        point.id = self.next_point;
        point.code = self.facts(|scan| scan.visit_expr(&point.operand));
        point.env = self.visible();
        if self.counts.get(&point.label).is_some_and(|count| *count > 1) {
            point.label += &format!("~{:04x}", digest(&point.operand));
        }
        // Only equal suspensions are told apart by their order.
        let mut label = point.label.clone();
        let mut number = 1;
        while !self.labels.insert(hash(label.bytes())) {
            number += 1;
            label = format!("{}#{number}", point.label);
        }
        point.label = label;
    }
}

fn as_name(e: &Expr) -> Option<&Ident> {
    match e {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

/// A short number for what is awaited, the same for the same text: names suspensions that would share
/// a name, so that inserting another one cannot make a stored frame go on at the wrong place.
fn digest(e: &Expr) -> u16 {
    let text = e.to_token_stream().to_string();
    let hash = hash(text.bytes().filter(|byte| !byte.is_ascii_whitespace()));
    (hash ^ (hash >> 16)) as u16
}

/// FNV-1a, as leno-frame makes numbers of labels.
fn hash(text: impl Iterator<Item = u8>) -> u32 {
    text.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proc_macro2::Span;
    use syn::{Ident, parse_quote};

    use super::{Resolve, hash};
    use crate::resumable::ir::Point;

    fn resolve() -> Resolve {
        Resolve::new(HashMap::new(), &name("co"))
    }

    fn name(name: &str) -> Ident {
        Ident::new(name, Span::call_site())
    }

    #[test]
    fn there_are_as_many_variables_as_have_numbers() {
        let mut resolve = resolve();
        let names = |count| (0..count).map(|_| (name("x"), false)).collect();
        assert_eq!(resolve.declare(names(65_536)).len(), 65_536);
        assert!(resolve.errors.is_empty());
        assert!(resolve.declare(names(2)).is_empty());
        let said = resolve.errors[0].to_string();
        assert_eq!(said, "a resumable fn has at most 65,536 variables");
    }

    /// Two words with the same number are known; a compact image could not tell them apart.
    #[test]
    fn labels_with_the_same_number_are_told_apart() {
        assert_eq!(hash("costarring".bytes()), hash("liquid".bytes()));
        let mut resolve = resolve();
        let mut labels = Vec::new();
        for label in ["costarring", "liquid", "other"] {
            let mut point =
                Point::new(parse_quote!(co.suspend(1)), label.into(), Span::call_site());
            resolve.point(&mut point);
            labels.push(point.label);
        }
        assert_eq!(labels, ["costarring", "liquid#2", "other"]);
    }
}
