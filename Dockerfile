# The book and its commands:  docker build -t fslcore .
#   docker run -p 8000:8000 fslcore                                        # the site, at http://localhost:8000
#   docker run -v "$PWD:/work" -w /work fslcore fslcore report results.csv   # a command, on the files of this folder
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /fslcore
COPY . .
RUN make book
ENV PATH="/fslcore/.venv/bin:$PATH"
EXPOSE 8000
CMD ["python", "-m", "http.server", "8000", "--directory", "/fslcore/_build/html"]
