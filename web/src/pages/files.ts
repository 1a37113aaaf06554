// What comes when somebody goes there: metrics, pages on which files are opened, what Prometheus' files have
// configured, what changes dashboards, how questions were answered, names that are near, tables beside the
// editor of SQL, files of answers, and views of Operations that are no overview.

export { Audit } from "../parts/audit";
export { Backups } from "../parts/backups";
export { BoardEdit } from "../parts/boardedit";
export { BoardImport } from "../parts/boardimport";
export { Columns } from "../parts/columns";
export { Download } from "../parts/download";
export { Explained } from "../parts/explained";
export { Nearest, NearestOfNothing } from "../parts/nearest";
export { Queries } from "../parts/queries";
export { Retention } from "../parts/retention";
export { Import } from "./import";
export { Metrics } from "./metrics";
export { Monitoring } from "./monitoring";
export { Reports } from "./reports";
