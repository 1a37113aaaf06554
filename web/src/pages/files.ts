// What comes when somebody goes there: pages on which files are opened, what Prometheus' files have
// configured, and what changes dashboards.

export { BoardEdit } from "../parts/boardedit";
export { BoardImport } from "../parts/boardimport";
export { Import } from "./import";
export { Monitoring } from "./monitoring";
export { Reports } from "./reports";
