//! A procedural macro, which runs in the compiler.

use proc_macro::{TokenStream, TokenTree};

#[proc_macro_derive(Named)]
pub fn named(item: TokenStream) -> TokenStream {
    let mut idents = item.into_iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    });
    let name = idents.find(|word| word == "struct").and_then(|_| idents.next()).unwrap();
    format!("impl shape::Named for {name} {{ fn name(&self) -> &'static str {{ {name:?} }} }}")
        .parse()
        .unwrap()
}
