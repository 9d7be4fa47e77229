/** The port of foreign schemas as tests use it. Nothing is started before it is asked, and what is idle holds no process up. */
import { createForeignSchemas } from '../../src/platform/schemas/index.ts';

export const schemas = createForeignSchemas();
export const makeInstance = schemas.instanceMaker('prj_1');
