//! Labels to series ids: registry, postings and their file formats.
