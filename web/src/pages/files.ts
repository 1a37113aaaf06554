// What comes when somebody goes there: pages on which files are opened, and what changes dashboards.

export { BoardEdit } from "../parts/boardedit";
export { BoardImport } from "../parts/boardimport";
export { Import } from "./import";
export { Reports } from "./reports";
