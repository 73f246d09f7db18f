//! Puts a bundle together.

use crate::format::{HEADER_SIZE, Header, Manifest, compress, hash_body};
use crate::link::LinkLine;
use crate::part::{Content, ContentHash, Language, Origin, Part, PartId};

/// Collects parts, then writes them all.
#[derive(Debug)]
pub struct BundleBuilder {
    manifest: Manifest,
    frames: Vec<u8>,
}

impl BundleBuilder {
    /// An empty bundle for a program that was linked so.
    #[must_use]
    pub fn new(link: LinkLine) -> BundleBuilder {
        BundleBuilder {
            manifest: Manifest {
                tools: Vec::new(),
                link,
                parts: Vec::new(),
            },
            frames: Vec::new(),
        }
    }

    /// Names a tool that took part in the build, with its version.
    pub fn add_tool(&mut self, tool: impl Into<String>) {
        self.manifest.tools.push(tool.into());
    }

    /// Adds a part; parts are added in link order.
    pub fn add(
        &mut self,
        content: Content,
        origin: Origin,
        language: Option<Language>,
        bytes: &[u8],
    ) -> PartId {
        let frame = compress(bytes);
        let part = PartId(u32::try_from(self.manifest.parts.len()).expect("fewer than 2^32 parts"));
        self.manifest.parts.push(Part {
            content,
            origin,
            language,
            hash: ContentHash::of(bytes),
            size: bytes.len() as u64,
            start: self.frames.len() as u64,
            stored: frame.len() as u64,
        });
        self.frames.extend_from_slice(&frame);
        part
    }

    /// The link line, to be completed while parts are added.
    pub fn link_mut(&mut self) -> &mut LinkLine {
        &mut self.manifest.link
    }

    /// The finished bundle.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let manifest = postcard::to_allocvec(&self.manifest).expect("the manifest is plain data");
        let contents = compress(&manifest);
        let mut bytes = vec![0; HEADER_SIZE];
        bytes.extend_from_slice(&contents);
        bytes.extend_from_slice(&self.frames);
        let header = Header {
            length: bytes.len() as u64,
            contents: contents.len() as u64,
            hash: hash_body(&bytes[HEADER_SIZE..]),
        };
        bytes[..HEADER_SIZE].copy_from_slice(&header.encode());
        bytes
    }
}
