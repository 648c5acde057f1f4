# syntax=docker/dockerfile:1

# To pin an image, append its digest: docker buildx imagetools inspect node:24-bookworm-slim

# This image has compilers, for platforms without prebuilt native code.
FROM node:24-bookworm AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json LICENSE ./
COPY gen gen
COPY src src
COPY .ci/*.ts .ci/
RUN npm run build && node dist/.ci/image-files.js /image

FROM node:24-bookworm-slim
# The service reads config/config.json in its working folder, /app, and paths in it are relative to that folder. A smaller space for young objects saves memory and
# costs no measurable processor time (bench/README.md).
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=8 \
    HOST=0.0.0.0 \
    APP_PORT=8080 \
    DATABASE_URL=sqlite:/data/relayer.db
WORKDIR /app
# Root owns the program, which is read-only; the service owns only its data.
COPY --from=build /image ./
RUN install -d -o node -g node -m 700 /data
USER node
VOLUME /data
EXPOSE 8080
# The certificate has the public name, not this address, so the check does not verify it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["node", "-e", "const { get } = require(process.env.TLS_CERT_FILE ? 'https' : 'http'); get({ host: '127.0.0.1', port: process.env.APP_PORT, path: '/api/v1/health', rejectUnauthorized: false }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "dist/program/main.js"]
CMD ["serve"]
