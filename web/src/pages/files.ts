// What comes when somebody goes there: metrics, dashboards, pages on which files are opened, what Prometheus' files have
// configured, how questions were answered, names that are near, tables beside the editor of SQL, files of answers, tables
// and maps of answers, questions for elsewhere, what else is known of samples, and views of Operations that are no
// overview.

export { Audit } from "../parts/audit";
export { Backups } from "../parts/backups";
export { BoardEdit } from "../parts/boardedit";
export { BoardImport } from "../parts/boardimport";
export { Columns } from "../parts/columns";
export { Log, Settings } from "../parts/configured";
export { CopyAs } from "../parts/copyas";
export { Download } from "../parts/download";
export { Explained } from "../parts/explained";
export { Heatmap } from "../parts/heatmap";
export { NoLines, Nothing } from "../parts/lasting";
export { Misnamed, Nearest, NearestOfNothing } from "../parts/nearest";
export { NewBoardForm } from "../parts/newboard";
export { Queries } from "../parts/queries";
export { ReadyBoards } from "../parts/ready";
export { Retention } from "../parts/retention";
export { Samples } from "../parts/samples";
export { Senders } from "../parts/senders";
export { Statements } from "../parts/statements";
export { Storage } from "../parts/storage";
export { Tables } from "../parts/tables";
export { Values } from "../parts/values";
export { Dashboards } from "./dashboards";
export { Import } from "./import";
export { Metrics } from "./metrics";
export { Monitoring } from "./monitoring";
export { Reports } from "./reports";
export { completed } from "../stored";
