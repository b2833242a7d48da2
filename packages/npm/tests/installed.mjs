// An empty directory with an empty home, in which tests install the package without network.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Directory with the tarballs under test. */
export const TARBALLS = process.env.LONGHAUL_TEST_TARBALLS;
/** Directory with the development tools. */
export const TOOLS = process.env.LONGHAUL_TEST_TOOLS;

/** Returns the path of the tarball with such a name. */
function tarball(name) {
  return join(TARBALLS, readdirSync(TARBALLS).find((each) => name.test(each) && each.endsWith('.tgz')));
}

export class Stage {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'longhaul-npm-'));
    for (const name of ['home', 'project', 'work', 'tmp']) {
      mkdirSync(join(this.dir, name));
    }
    writeFileSync(join(this.path('project'), 'package.json'), '{"private":true,"type":"module"}\n');
    this.launcher = this.path('project', 'node_modules', 'longhaul', 'launcher.js');
  }

  path(...names) {
    return join(this.dir, ...names);
  }

  /** The variables of a call. The scripted agent runs as root in a sandbox only. */
  env(more = {}) {
    const tmp = this.path('tmp');
    return { PATH: process.env.PATH, HOME: this.path('home'), TMPDIR: tmp, IS_SANDBOX: '1', TZ: 'UTC', ...more };
  }

  /** Installs the package and the program of this platform, as a person without network does. */
  async install() {
    await this.#install(tarball(/^longhaul-\d/), tarball(new RegExp(`^longhaul-${process.platform}-${process.arch}-`)));
  }

  /** Installs only the package itself. */
  async installWithoutProgram() {
    await this.#install('--omit=optional', tarball(/^longhaul-\d/));
  }

  async #install(...args) {
    await this.start('npm', ['install', '--offline', '--no-audit', '--no-fund', ...args]);
  }

  /** Runs a program in the project. Resolves with its exit code and its output, and never rejects. */
  async end(program, args, more = {}) {
    const options = { cwd: this.path('project'), env: this.env(more), maxBuffer: 1 << 24 };
    try {
      return { code: 0, ...(await execute(program, args, options)) };
    } catch (error) {
      return { code: error.code, signal: error.signal, stdout: error.stdout, stderr: error.stderr };
    }
  }

  /** Runs a program in the project that must succeed, and resolves with its output. */
  async start(program, args, more = {}) {
    const { code, stdout, stderr } = await this.end(program, args, more);
    if (code !== 0) {
      throw new Error(`${program} ${args.join(' ')}: ${code}\n${stdout}${stderr}`);
    }
    return { stdout, stderr };
  }

  /** Writes a shell script and returns its path. */
  script(name, body) {
    writeFileSync(this.path(name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return this.path(name);
  }

  remove() {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
