// Pages on which files are opened, which come when somebody goes there.

export { Import } from "./import";
export { Reports } from "./reports";
