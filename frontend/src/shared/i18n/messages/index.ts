import { common } from "./common";
import { live } from "./live";
import { presenters } from "./presenters";
import { shop } from "./shop";
import { shows } from "./shows";

/** key → [Chinese, English] */
export const messages = { ...common, ...live, ...presenters, ...shop, ...shows } as const;

export type MessageKey = keyof typeof messages;
