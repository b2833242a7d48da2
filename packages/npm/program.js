// Finds the program of this platform. Never downloads or starts anything.
import { createRequire } from 'node:module';
import { LonghaulError } from './error.js';

/** The package that carries the program, by `process.platform` and `process.arch`. */
const PACKAGES = {
  'darwin arm64': '@longhaul/darwin-arm64',
  'linux arm64': '@longhaul/linux-arm64',
  'linux x64': '@longhaul/linux-x64',
};

const OWN_BUILD =
  'build Longhaul with `cargo install --path crates/cli` in its repository, and set LONGHAUL_BIN to the program';

/** Returns the path of the program. `LONGHAUL_BIN` overrides the installed one. */
export function findProgram(env) {
  if (env.LONGHAUL_BIN) {
    return env.LONGHAUL_BIN;
  }
  const platform = `${process.platform} ${process.arch}`;
  const name = PACKAGES[platform];
  if (!name) {
    const supported = Object.keys(PACKAGES).join(', ');
    throw new LonghaulError(`longhaul has no program for ${platform}`, {
      hint: `supported: ${supported}; for another platform, ${OWN_BUILD}`,
    });
  }
  try {
    return createRequire(import.meta.url).resolve(`${name}/longhaul`);
  } catch {
    throw new LonghaulError(`the package ${name}, which carries the program, is not installed`, {
      hint: `install again without --omit=optional and --no-optional, on the platform that runs it; or ${OWN_BUILD}`,
    });
  }
}
